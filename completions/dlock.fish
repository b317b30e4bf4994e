# SPDX-License-Identifier: MIT
# fish completion for dlock(1). It asks neither dlock nor a store: Tab never waits for a network.

# Reads the words before the cursor. Prints the command, "none" before it, or "child N" where the
# N-th word is the first of the command that `dlock run` starts ("string" if -c took its place).
function __dlock_state
    set -l words (commandline -opc)
    set -l state none
    set -l string no
    set -l dashes no
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        if string match -qr -- '^(-c|--command)' $word
            set string yes
        end
        if test "$word" = "--"; and test $state != none; and test $dashes = no
            set dashes yes # the options end, a name may begin with -
        else if test $dashes = no; and string match -qr -- '^-.' $word
            if contains -- $word (__dlock_valued)
                set i (math $i + 1)
            end
        else if test $state = none
            set state $word
        else if test $state = run
            set -l next (math $i + 1)
            if test $string = yes
                echo string
            else if test "$words[$next]" = --
                echo child (math $i + 2)
            else
                echo child $next
            end
            return
        end
        set i (math $i + 1)
    end
    echo $state
end

function __dlock_in
    contains -- (__dlock_state) $argv
end

function __dlock_own_words
    not string match -qr '^(child|string)' (__dlock_state)
end

function __dlock_in_child
    string match -q 'child*' (__dlock_state)
end

function __dlock_child
    set -l first (string split ' ' (__dlock_state))[2]
    set -l words (commandline -opc) (commandline -ct)
    # complete -C rather than __fish_complete_subcommand, which takes an empty word for none.
    complete -C "$words[$first..-1]"
end

complete -c dlock -f
complete -c dlock -n __dlock_in_child -x -a '(__dlock_child)'

# --- written by ./dev completions from the help ---
# Prints the options that have a value.
function __dlock_valued
    printf '%s\n' --url --prefix --connect-timeout --quorum-delay --password-file \
        --sentinel-password-file --cacert --cacertdir --cert --key --key-password-file --sni \
        --log-format --color --config --and --or -c --command --replicas --slots -w --wait \
        --timeout -E --conflict-exit-code --max-waiters --supersede --ttl -k --kill-after --signal \
        --on-lost --on-unavailable --splay --min-hold --max-hold --once-per --keep-last --reason \
        --result-file --metrics-dir --notify --notify-on --owner --every --while --host --user \
        --format --for --if-owner --if-token
end

complete -c dlock -n '__dlock_in none' -a run -d 'Run CMD while holding the lock NAME'
complete -c dlock -n '__dlock_in none' -a acquire -d 'Take the lock NAME for several steps of a script'
complete -c dlock -n '__dlock_in none' -a renew -d 'Renew the lease of a lock taken by acquire'
complete -c dlock -n '__dlock_in none' -a release -d 'Release a lock taken by acquire'
complete -c dlock -n '__dlock_in none' -a wait -d 'Wait until NAME is free, without taking it'
complete -c dlock -n '__dlock_in none' -a inspect -d 'Show the holders, the waiters and the last run'
complete -c dlock -n '__dlock_in none' -a list -d 'List the locks, one a line'
complete -c dlock -n '__dlock_in none' -a forget -d 'Forget the success that --once-per remembers'
complete -c dlock -n '__dlock_in none' -a freeze -d 'Let no new run have NAME for a time'
complete -c dlock -n '__dlock_in none' -a unfreeze -d 'End a freeze before its time'
complete -c dlock -n '__dlock_in none' -a force-release -d 'Revoke NAME and wait until its holder has stopped'
complete -c dlock -n '__dlock_in none' -a doctor -d 'Look for what could break the promise, and name the remedy'
complete -c dlock -n '__dlock_in none' -a config -d 'Show each setting, its value, and where it comes from'
complete -c dlock -n '__dlock_in none' -a help -d 'Print the help of dlock or of a command'
complete -c dlock -n '__dlock_in none' -a version -d 'Print the version'
complete -c dlock -n '__dlock_in help' -a 'run acquire renew release wait inspect list forget freeze unfreeze force-release doctor config'

complete -c dlock -n __dlock_own_words -l url -x -a 'redis:// rediss:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster:// redis+unix:/// postgresql:// mysql:// mariadb:// etcd:// etcds:// zookeeper:// zookeepers:// local:/// sqlite:///' -d 'The store'
complete -c dlock -n __dlock_own_words -l require-url -d 'Refuse to run where no setting names the store'
complete -c dlock -n __dlock_own_words -l prefix -x -d 'Put before each name to form the key in Redis (default dlock:)'
complete -c dlock -n __dlock_own_words -l connect-timeout -x -d 'How long to retry an unreachable store (default 5s)'
complete -c dlock -n __dlock_own_words -l quorum-delay -x -d 'How long a restarted server of several has no vote (default 60s)'
complete -c dlock -n __dlock_own_words -l password-file -r -F -d 'A file that holds the password for the store'
complete -c dlock -n __dlock_own_words -l sentinel-password-file -r -F -d 'A file that holds the password for the sentinels'
complete -c dlock -n __dlock_own_words -l cacert -r -F -d 'The CAs to trust with TLS, PEM (default: the system\'s)'
complete -c dlock -n __dlock_own_words -l cacertdir -x -a '(__fish_complete_directories)' -d 'The same: a directory with hashed names (openssl rehash)'
complete -c dlock -n __dlock_own_words -l cert -r -F -d 'The certificate to present with TLS, PEM; needs --key'
complete -c dlock -n __dlock_own_words -l key -r -F -d 'The private key of --cert, PEM'
complete -c dlock -n __dlock_own_words -l key-password-file -r -F -d 'A file that holds the password of --key'
complete -c dlock -n __dlock_own_words -l sni -x -d 'With TLS: the server\'s name, in place of the URL\'s host'
complete -c dlock -n __dlock_own_words -l insecure -d 'Do not verify the server\'s certificate: anyone can be the server'
complete -c dlock -n __dlock_own_words -s v -l verbose -d 'Log lock events; twice: also every call to the store'
complete -c dlock -n __dlock_own_words -s q -l quiet -d 'Log errors only; inspect, doctor: print nothing'
complete -c dlock -n __dlock_own_words -l log-format -x -a 'text json' -d 'The format of messages (default text)'
complete -c dlock -n __dlock_own_words -l color -x -a 'auto always never' -d 'Auto, always or never (default auto)'
complete -c dlock -n __dlock_own_words -l config -r -F -d 'Read this file instead of the user\'s and the system\'s'
complete -c dlock -n __dlock_own_words -s V -l version -d 'Print the version'
complete -c dlock -n __dlock_own_words -s h -d 'Print what most need of the help'
complete -c dlock -n __dlock_own_words -l help -d 'Print all of the help'
complete -c dlock -n '__dlock_in run' -l and -x -d 'Take this lock too, all or none (repeatable)'
complete -c dlock -n '__dlock_in run' -l or -x -d 'Take this lock or NAME, whichever is free (repeatable)'
complete -c dlock -n '__dlock_in run' -s c -l command -x -d 'Run STRING by $SHELL -c instead of CMD'
complete -c dlock -n '__dlock_in run acquire renew doctor' -l replicas -x -d 'A grant or renewal counts when N replicas have it (default 0, sets 1)'
complete -c dlock -n '__dlock_in run acquire' -s s -l shared -d 'Share the lock with other shared holders'
complete -c dlock -n '__dlock_in run acquire' -s x -l exclusive -d 'Hold the lock alone, as the writer of a read-write lock'
complete -c dlock -n '__dlock_in run acquire' -l slots -x -d 'Hold one of N slots: at most N holders at a time'
complete -c dlock -n '__dlock_in run acquire wait' -s n -l nb -l nonblock -d 'Give up at once if the lock is busy'
complete -c dlock -n '__dlock_in run acquire wait' -s w -l wait -l timeout -x -d 'Give up after DUR; 0 is -n (default: wait for ever)'
complete -c dlock -n '__dlock_in run acquire wait' -s E -l conflict-exit-code -x -d 'Exit status when the lock is busy (default 75)'
complete -c dlock -n '__dlock_in run acquire' -l max-waiters -x -d 'Give up at once if N waiters are in line already'
complete -c dlock -n '__dlock_in run' -l supersede -x -a 'none waiting holder' -d 'The newest run wins: end those that wait, or also hold, and said so, too'
complete -c dlock -n '__dlock_in run acquire' -l ttl -x -d 'The lease (default 30s, at least 1s)'
complete -c dlock -n '__dlock_in run' -s k -l kill-after -x -d 'From TERM to KILL (default a third of ttl, at most 10s)'
complete -c dlock -n '__dlock_in run' -l signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL' -d 'The first signal when CMD must stop (default TERM)'
complete -c dlock -n '__dlock_in run' -l on-lost -x -a 'stop warn' -d 'What happens to CMD when the lease cannot be renewed (default stop)'
complete -c dlock -n '__dlock_in run' -l on-unavailable -x -a 'fail skip run' -d 'What happens when the store is away: run starts CMD without the lock (default fail)'
complete -c dlock -n '__dlock_in run' -l contain -d 'Hold the lock until every descendant of CMD has ended'
complete -c dlock -n '__dlock_in run' -l splay -x -d 'Begin after a random time of at most DUR, so that many hosts do not begin at once'
complete -c dlock -n '__dlock_in run' -l min-hold -x -d 'Keep the lock for at least DUR, even if CMD ends sooner'
complete -c dlock -n '__dlock_in run' -l max-hold -x -d 'Stop CMD after DUR; exit status 124'
complete -c dlock -n '__dlock_in run' -l no-renew -d 'Stop CMD before the first lease ends; exit status 124'
complete -c dlock -n '__dlock_in run' -l once-per -x -d 'Skip CMD if a run that succeeded began less than DUR ago'
complete -c dlock -n '__dlock_in run release' -l keep-last -x -d 'How long inspect shows how the run ended (default 1d; etcd, ZooKeeper 0)'
complete -c dlock -n '__dlock_in run acquire freeze' -l reason -x -d 'Shown to waiters and by inspect (default: the CI job\'s URL)'
complete -c dlock -n '__dlock_in run' -l result-file -r -F -d 'Write the outcome of the run to FILE, as JSON'
complete -c dlock -n '__dlock_in run' -l metrics-dir -x -a '(__fish_complete_directories)' -d 'Count the run in a file of DIR, for node_exporter'
complete -c dlock -n '__dlock_in run' -l notify -x -d 'Run COMMAND with the shell at certain events, told on its stdin'
complete -c dlock -n '__dlock_in run' -l notify-on -x -d 'The events of --notify, separated by commas'
complete -c dlock -n '__dlock_in acquire' -l json -d 'Write JSON instead of lines for a shell'
complete -c dlock -n '__dlock_in renew release' -l owner -x -d 'The owner that acquire printed (default: from DLOCK_HOLDS)'
complete -c dlock -n '__dlock_in renew' -l every -x -d 'Renew once per DUR (default with --while: ttl/3)'
complete -c dlock -n '__dlock_in renew' -l while -x -a '(__fish_complete_pids)' -d 'Keep renewing until this process has ended'
complete -c dlock -n '__dlock_in renew' -l ttl -x -d 'The lease from now on (default: that of acquire, DLOCK_TTL_MS)'
complete -c dlock -n '__dlock_in inspect list doctor config' -l json -d 'Write JSON'
complete -c dlock -n '__dlock_in inspect' -l waited -d 'With -q: exit with 0 if a run waits for NAME, otherwise with 1'
complete -c dlock -n '__dlock_in list' -l host -x -d 'Only locks that a run on this host holds'
complete -c dlock -n '__dlock_in list' -l user -x -d 'Only locks that a run of this user holds'
complete -c dlock -n '__dlock_in list' -l mine -d 'Only locks that a run of this user on this host holds'
complete -c dlock -n '__dlock_in list' -l names -d 'Only the names, one a line'
complete -c dlock -n '__dlock_in list' -s 0 -l null -d 'With --names: a NUL after each name, for xargs -0'
complete -c dlock -n '__dlock_in list' -l format -x -d 'Text, json, or prometheus: metrics for node_exporter'
complete -c dlock -n '__dlock_in freeze' -l for -x -d 'How long the freeze lasts (required)'
complete -c dlock -n '__dlock_in force-release' -l now -d 'Delete the lock at once: two commands may then run'
complete -c dlock -n '__dlock_in force-release' -l if-owner -x -d 'Only if this owner holds the lock'
complete -c dlock -n '__dlock_in force-release' -l if-token -x -d 'Only if a hold has this fencing token'
complete -c dlock -n '__dlock_in force-release' -s y -l yes -d 'Do not ask for confirmation'
complete -c dlock -n '__dlock_in doctor' -l strict -d 'Exit with 1 for a warning, too'
complete -c dlock -n '__dlock_in doctor' -l ddl -d 'Only print the SQL that makes the tables'
complete -c dlock -n '__dlock_in doctor' -l ttl -x -d 'The lease of the runs to judge for (default 30s)'
# --- end of what ./dev completions writes ---
