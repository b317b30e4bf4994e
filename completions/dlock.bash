# SPDX-License-Identifier: MIT
# bash completion for dlock(1). It asks neither dlock nor a store: Tab never waits for a network.
# tests/docs/completions.bats compares the options here with the help.

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

# The value of the option $1. Says no if the option takes none.
_dlock_value() {
  case $1 in
    --config | --password-file | --sentinel-password-file | --result-file | --cacert | --cert | --key | --key-password-file)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
      ;;
    --cacertdir)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -d -- "$cur")
      ;;
    --log-format) mapfile -t COMPREPLY < <(compgen -W 'text json' -- "$cur") ;;
    --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur") ;;
    --on-lost) mapfile -t COMPREPLY < <(compgen -W 'stop warn' -- "$cur") ;;
    --signal) mapfile -t COMPREPLY < <(compgen -W 'TERM INT HUP QUIT USR1 USR2 KILL' -- "$cur") ;;
    --while) mapfile -t COMPREPLY < <(compgen -W "$(ps -eo pid= 2>/dev/null)" -- "$cur") ;;
    --url | --prefix | --connect-timeout | --quorum-delay | --sni) ;;
    -w | --wait | --timeout | --max-waiters | -E | --conflict-exit-code | --ttl | --replicas) ;;
    -k | --kill-after | --slots | --min-hold | --max-hold | --once-per | --owner | --every) ;;
    --and | -c | --command | --reason | --if-owner | --if-token) ;;
    *) return 1 ;;
  esac
}

# Names of locks are left to the user: only the store knows them.
_dlock() {
  local cur=${COMP_WORDS[COMP_CWORD]} command='' string='' dashes='' word i
  local commands='run acquire renew release wait inspect list forget force-release doctor config help version'
  local options='--url --require-url --prefix --connect-timeout --quorum-delay --config --password-file --sentinel-password-file --cacert
    --cacertdir --cert --key --key-password-file --sni --insecure -v --verbose -q --quiet
    --log-format --color -V --version -h --help'
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

  case $command in
    '') options+=" $commands" ;;
    run | acquire)
      options+=' -n --nonblock --nb -w --wait --timeout --max-waiters -E --conflict-exit-code
        -s --shared -x --exclusive --slots --ttl --reason --replicas'
      ;;&
    run)
      options+=' --and -k --kill-after --signal --on-lost --contain -c --command --min-hold --max-hold
        --no-renew --once-per --result-file'
      ;;
    acquire) options+=' --json' ;;
    renew) options+=' --owner --ttl --every --while --replicas' ;;
    release) options+=' --owner' ;;
    wait) options+=' -n --nonblock --nb -w --wait --timeout -E --conflict-exit-code' ;;
    inspect | list | config) options+=' --json' ;;
    forget) ;;
    help)
      mapfile -t COMPREPLY < <(compgen -W "${commands% help version}" -- "$cur")
      return
      ;;
    force-release) options+=' --now --if-owner --if-token -y --yes' ;;
    doctor) options+=' --ttl --replicas --strict --json --ddl' ;;
    *) return ;;
  esac
  if [[ $dashes || ($command && $cur != -*) ]]; then return; fi
  if [[ $cur != -* ]]; then options=$commands; fi
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
}

complete -F _dlock dlock
