# SPDX-License-Identifier: MIT
# For the suites with sentinels: three of them over a set of replicas.bash, on loopback ports. A part
# of suite.bash.
# shellcheck shell=bash disable=SC2154  # T, STARTED, SET_PORTS and MASTER_PORT are set elsewhere

# start_sentinels [DOWN_AFTER_MS]: starts three sentinels for the servers of start_set; sets
# SENTINEL_PIDS and DLOCK_URL. They know the master as "mymaster".
start_sentinels() {
  local i hosts=()
  SENTINEL_PORTS=() SENTINEL_PIDS=()
  for i in 0 1 2; do
    SENTINEL_PORTS+=("$(free_port)")
    mkdir -p "$T/sentinel$i"
    printf '%s\n' "port ${SENTINEL_PORTS[i]}" "bind 127.0.0.1" "dir $T/sentinel$i" \
      "sentinel monitor mymaster 127.0.0.1 $MASTER_PORT 2" \
      "sentinel down-after-milliseconds mymaster ${1:-1000}" \
      "sentinel failover-timeout mymaster 5000" >"$T/sentinel$i/conf"
    redis-server "$T/sentinel$i/conf" --sentinel >"$T/sentinel$i/log" 2>&1 3>&- &
    SENTINEL_PIDS+=($!)
    STARTED+=($!)
    hosts+=("127.0.0.1:${SENTINEL_PORTS[i]}")
  done
  for i in 0 1 2; do eventually 20s knows_all "$i"; done
  DLOCK_URL=redis+sentinel://$(IFS=,; echo "${hosts[*]}")/mymaster
  export DLOCK_URL
}
# sentinel N COMMAND…: sends `SENTINEL COMMAND…` to sentinel N.
sentinel() {
  local port=${SENTINEL_PORTS[$1]}
  shift
  redis-cli -p "$port" sentinel "$@"
}
# Succeeds if the sentinel knows the other sentinels and all replicas.
knows_all() {
  local said
  said=$(sentinel "$1" master mymaster 2>/dev/null | paste - - 2>/dev/null)
  grep -qP "^num-other-sentinels\t2$" <<<"$said" &&
    grep -qP "^num-slaves\t$((${#SET_PORTS[@]} - 1))$" <<<"$said"
}
# Prints the number, in the set, of the server that all sentinels name as the master.
named_master() {
  local i port
  port=$(for i in 0 1 2; do sentinel $i get-master-addr-by-name mymaster | tail -1; done | sort -u)
  for i in "${!SET_PORTS[@]}"; do [ "${SET_PORTS[i]}" != "$port" ] || echo "$i"; done
}
switched() { local now; now=$(named_master) && [ -n "$now" ] && [ "$now" != 0 ]; }
