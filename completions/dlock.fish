# SPDX-License-Identifier: MIT
# fish completion for dlock(1). It asks neither dlock nor a store: Tab never waits for a network.
# tests/docs/completions.bats compares the options here with the help.

# Reads the words before the cursor. Prints the command, "none" before it, or "child N" where the
# N-th word is the first of the command that `dlock run` starts ("string" if -c took its place).
function __dlock_state
    set -l words (commandline -opc)
    set -l valued --url --prefix --connect-timeout --quorum-delay --config --password-file --sentinel-password-file --log-format --color \
        --cacert --cacertdir --cert --key --key-password-file --sni \
        -w --wait --timeout --max-waiters --replicas -E --conflict-exit-code --ttl -k --kill-after \
        --signal --on-lost --slots --min-hold --max-hold --once-per --owner --every --while \
        --and -c --command --reason --result-file --if-owner --if-token
    set -l state none
    set -l string no
    set -l dashes no
    set -l i 2
    while test $i -le (count $words)
        set -l word $words[$i]
        if string match -qr -- '^(-c|--command)' $word
            set string yes
        end
        if test $word = -- -a $state != none -a $dashes = no
            set dashes yes # the options end, a name may begin with -
        else if test $dashes = no; and string match -q -- '-?*' $word
            if contains -- $word $valued
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

complete -c dlock -n '__dlock_in none' -a run -d 'Run a command while holding the lock'
complete -c dlock -n '__dlock_in none' -a acquire -d 'Take a lock for several steps of a script'
complete -c dlock -n '__dlock_in none' -a renew -d 'Renew the lease of a lock taken by acquire'
complete -c dlock -n '__dlock_in none' -a release -d 'Release a lock taken by acquire'
complete -c dlock -n '__dlock_in none' -a wait -d 'Wait until a lock is free'
complete -c dlock -n '__dlock_in none' -a inspect -d 'Show holders, leases and waiters'
complete -c dlock -n '__dlock_in none' -a list -d 'List the locks'
complete -c dlock -n '__dlock_in none' -a forget -d 'Forget the success that --once-per remembers'
complete -c dlock -n '__dlock_in none' -a force-release -d 'Revoke a lock'
complete -c dlock -n '__dlock_in none' -a doctor -d 'Look for what could break the promise'
complete -c dlock -n '__dlock_in none' -a config -d 'Show each setting and where it comes from'
complete -c dlock -n '__dlock_in none' -a help -d 'Print the help of dlock or of a command'
complete -c dlock -n '__dlock_in none' -a version -d 'Print the version'
complete -c dlock -n '__dlock_in help' \
    -a 'run acquire renew release wait inspect list forget force-release doctor config'

complete -c dlock -n __dlock_own_words -l url -x -a 'redis:// rediss:// redis+unix:// postgresql:// mysql:// etcd:// zookeeper:// sqlite:/// local:///' \
    -d 'The store'
complete -c dlock -n __dlock_own_words -l require-url -d 'Refuse the default store'
complete -c dlock -n __dlock_own_words -l prefix -x -d 'Prefix of the name in the key'
complete -c dlock -n __dlock_own_words -l connect-timeout -x -d 'How long to retry an unreachable store'
complete -c dlock -n __dlock_own_words -l quorum-delay -x -d 'How long a restarted server of several has no vote'
complete -c dlock -n __dlock_own_words -l config -r -F -d 'Configuration file'
complete -c dlock -n __dlock_own_words -l password-file -r -F -d 'File with the password'
complete -c dlock -n __dlock_own_words -l sentinel-password-file -r -F -d 'File with that of the sentinels'
complete -c dlock -n __dlock_own_words -l cacert -r -F -d 'File with the CAs to trust'
complete -c dlock -n __dlock_own_words -l cacertdir -x -a '(__fish_complete_directories)' \
    -d 'Directory with the CAs to trust'
complete -c dlock -n __dlock_own_words -l cert -r -F -d 'Certificate to present'
complete -c dlock -n __dlock_own_words -l key -r -F -d 'Private key of --cert'
complete -c dlock -n __dlock_own_words -l key-password-file -r -F -d 'File with the password of --key'
complete -c dlock -n __dlock_own_words -l sni -x -d 'Name of the server'
complete -c dlock -n __dlock_own_words -l insecure -d 'Do not verify the server'
complete -c dlock -n __dlock_own_words -s v -l verbose -d 'Log lock events; twice: every call'
complete -c dlock -n __dlock_own_words -s q -l quiet -d 'Log errors only; inspect: only exit'
complete -c dlock -n __dlock_own_words -l log-format -x -a 'text json' -d 'Format of messages'
complete -c dlock -n __dlock_own_words -l color -x -a 'auto always never' -d 'Use colour'
complete -c dlock -n __dlock_own_words -s V -l version -d 'Print the version'
complete -c dlock -n __dlock_own_words -s h -l help -d 'Print help'

complete -c dlock -n '__dlock_in run acquire wait' -s n -l nonblock -d 'Do not wait'
complete -c dlock -n '__dlock_in run acquire wait' -l nb -d 'Do not wait'
complete -c dlock -n '__dlock_in run acquire wait' -s w -l wait -x -d 'Wait at most'
complete -c dlock -n '__dlock_in run acquire wait' -l timeout -x -d 'Wait at most'
complete -c dlock -n '__dlock_in run acquire' -l max-waiters -x -d 'Give up if N waiters are in line'
complete -c dlock -n '__dlock_in run acquire wait' -s E -l conflict-exit-code -x \
    -d 'Exit status when busy'
complete -c dlock -n '__dlock_in run acquire' -s s -l shared -d 'Share the lock with shared holders'
complete -c dlock -n '__dlock_in run acquire' -s x -l exclusive -d 'Hold the lock alone, as a writer'
complete -c dlock -n '__dlock_in run acquire' -l slots -x -d 'Hold one of N slots'
complete -c dlock -n '__dlock_in run acquire renew doctor' -l ttl -x -d 'The lease'
complete -c dlock -n '__dlock_in run acquire renew doctor' -l replicas -x -d 'Replicas that must have it'
complete -c dlock -n '__dlock_in run' -l and -x -d 'A further lock, all or none'
complete -c dlock -n '__dlock_in run' -s k -l kill-after -x -d 'Time from the first signal to KILL'
complete -c dlock -n '__dlock_in run' -l signal -x -a 'TERM INT HUP QUIT USR1 USR2 KILL' \
    -d 'First signal when the command must stop'
complete -c dlock -n '__dlock_in run' -l on-lost -x -a 'stop warn' \
    -d 'When the lease cannot be renewed'
complete -c dlock -n '__dlock_in run' -s c -l command -x -d 'Run a string by the shell'
complete -c dlock -n '__dlock_in run' -l contain -d 'Hold until every descendant has ended'
complete -c dlock -n '__dlock_in run' -l min-hold -x -d 'Keep the lock for at least this long'
complete -c dlock -n '__dlock_in run' -l max-hold -x -d 'Stop the command after this long'
complete -c dlock -n '__dlock_in run' -l no-renew -d 'Stop the command before the lease ends'
complete -c dlock -n '__dlock_in run' -l once-per -x -d 'Skip if a run succeeded this recently'
complete -c dlock -n '__dlock_in run acquire' -l reason -x -d 'Shown to waiters and by inspect'
complete -c dlock -n '__dlock_in run' -l result-file -r -F -d 'Write the outcome of the run'

complete -c dlock -n '__dlock_in renew release' -l owner -x -d 'Owner of the hold'
complete -c dlock -n '__dlock_in renew' -l every -x -d 'Interval between renewals'
complete -c dlock -n '__dlock_in renew' -l while -x -a '(__fish_complete_pids)' \
    -d 'Renew while this process lives'

complete -c dlock -n '__dlock_in acquire inspect list doctor config' -l json -d 'Print JSON'

complete -c dlock -n '__dlock_in force-release' -l now -d 'Delete at once: two may run'
complete -c dlock -n '__dlock_in force-release' -l if-owner -x -d 'Only if this owner holds the lock'
complete -c dlock -n '__dlock_in force-release' -l if-token -x -d 'Only if a hold has this token'
complete -c dlock -n '__dlock_in force-release' -s y -l yes -d 'Do not ask for confirmation'

complete -c dlock -n '__dlock_in doctor' -l ddl -d 'Only print the SQL that makes the tables'
complete -c dlock -n '__dlock_in doctor' -l strict -d 'Exit with 1 for a warning, too'
