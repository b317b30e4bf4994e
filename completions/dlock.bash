# SPDX-License-Identifier: MIT
# bash completion for dlock(1). It asks neither dlock nor a store: Tab never waits for a network.

# --- written by ./dev completions from the help ---
# Sets `takes`: file, directory, process, words or text; empty: $1 has no value.
_dlock_takes() {
  case $1 in
    --url | --prefix | --connect-timeout | --quorum-delay | --sni | --and | --or | -c | --command \
      | --replicas | --slots | -w | --wait | --timeout | -E | --conflict-exit-code | --max-waiters \
      | --ttl | -k | --kill-after | --splay | --min-hold | --max-hold | --once-per | --keep-last | \
      --reason | --notify | --notify-on | --owner | --every | --host | --user | --format | --for | \
      --if-owner | --if-token)
      takes='text'
      ;;
    --password-file | --sentinel-password-file | --cacert | --cert | --key | --key-password-file | \
      --config | --result-file)
      takes='file'
      ;;
    --cacertdir | --metrics-dir)
      takes='directory'
      ;;
    --log-format)
      takes='text json'
      ;;
    --color)
      takes='auto always never'
      ;;
    --supersede)
      takes='none waiting holder'
      ;;
    --signal)
      takes='TERM INT HUP QUIT USR1 USR2 KILL'
      ;;
    --on-lost)
      takes='stop warn'
      ;;
    --on-unavailable)
      takes='fail skip run'
      ;;
    --while)
      takes='process'
      ;;
    *) takes='' ;;
  esac
}

# Sets `commands`, and `options`: those of the command $1.
_dlock_words() {
  commands='run acquire renew release wait inspect list forget freeze unfreeze force-release doctor config help version'
  options='--url --require-url --prefix --connect-timeout --quorum-delay --password-file
    --sentinel-password-file --cacert --cacertdir --cert --key --key-password-file --sni
    --insecure -v --verbose -q --quiet --log-format --color --config -V --version -h --help'
  case $1 in
    run)
      options+=' --and --or -c --command --replicas -s --shared -x --exclusive --slots -n --nb
        --nonblock -w --wait --timeout -E --conflict-exit-code --max-waiters --supersede --ttl -k
        --kill-after --signal --on-lost --on-unavailable --contain --splay --min-hold --max-hold
        --no-renew --once-per --keep-last --reason --result-file --metrics-dir --notify
        --notify-on'
      ;;
    acquire)
      options+=' --json --replicas -s --shared -x --exclusive --slots -n --nb --nonblock -w --wait
        --timeout -E --conflict-exit-code --max-waiters --ttl --reason'
      ;;
    renew)
      options+=' --owner --every --while --replicas --ttl'
      ;;
    release)
      options+=' --owner --keep-last'
      ;;
    wait)
      options+=' -n --nb --nonblock -w --wait --timeout -E --conflict-exit-code'
      ;;
    inspect)
      options+=' --json --waited'
      ;;
    list)
      options+=' --json --host --user --mine --names -0 --null --format'
      ;;
    freeze)
      options+=' --for --reason'
      ;;
    force-release)
      options+=' --now --if-owner --if-token -y --yes'
      ;;
    doctor)
      options+=' --json --strict --ddl --replicas --ttl'
      ;;
    config)
      options+=' --json'
      ;;
  esac
}
# --- end of what ./dev completions writes ---

# Words after the first that is not dlock's own: a command and its arguments.
_dlock_child() {
  local first=$1
  if declare -F _command_offset >/dev/null; then
    _command_offset "$first"
  elif ((COMP_CWORD == first)); then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}

# Completes the value of the option $1. Returns 1 if the option takes none.
_dlock_value() {
  local takes
  _dlock_takes "$1"
  case $takes in
    '') return 1 ;;
    text) ;;
    file)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    directory)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    process) mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$takes" -- "$cur") ;;
  esac
}

# Names of locks are left to the user: only the store knows them.
_dlock() {
  local cur=${COMP_WORDS[COMP_CWORD]} command='' string='' dashes='' commands options word i
  COMPREPLY=()

  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == -c || $word == --command ]]; then string=yes; fi
    if [[ $word == -- && $command && ! $dashes ]]; then # the options end, a name may begin with -
      dashes=yes
    elif [[ $word == -?* && ! $dashes ]]; then
      _dlock_value "$word" || continue
      # bash makes three words of --option=value.
      if [[ ${COMP_WORDS[i + 1]-} == = ]]; then ((i += 2)); else ((i += 1)); fi
      if ((i >= COMP_CWORD)); then
        if [[ $cur == = ]]; then cur=''; fi
        _dlock_value "$word"
        return
      fi
      COMPREPLY=()
    elif [[ -z $command ]]; then
      command=$word
    elif [[ $command == run ]]; then
      if [[ $string ]]; then return; fi
      if ((i + 1 == COMP_CWORD)) && [[ $cur == -* ]]; then
        COMPREPLY=(--)
      elif ((i + 1 < COMP_CWORD)) && [[ ${COMP_WORDS[i + 1]} == -- ]]; then
        _dlock_child $((i + 2))
      else
        _dlock_child $((i + 1))
      fi
      return
    fi
  done

  _dlock_words "$command"
  [[ -z $command || " $commands " == *" $command "* ]] || return
  case $command in
    '') options+=" $commands" ;;
    help)
      mapfile -t COMPREPLY < <(compgen -W "${commands% help version}" -- "$cur")
      return
      ;;
    version) return ;;
  esac
  if [[ $dashes || ($command && $cur != -*) ]]; then return; fi
  if [[ $cur != -* ]]; then options=$commands; fi
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}

complete -F _dlock dlock
