# An ACP agent that can be told how hard to think. What it is told to set, and that it is prompted, is written down in
# `heard`.
answer() { printf '{"jsonrpc":"2.0","id":"%s","result":%s}\n' "$id" "$1"; }
field() { printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
effort() {
  printf '"configOptions":[{"id":"depth","name":"Depth","category":"thought_level","type":"select","currentValue":"%s",' "$1"
  printf '"options":[{"value":"low","name":"Low"},{"value":"high","name":"High"}]}]'
}
while IFS= read -r line; do
  id=$(field id)
  case "$line" in
    *'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*) answer "{\"sessionId\":\"thinking-$$\",$(effort low)}" ;;
    *'"method":"session/set_config_option"'*)
      echo "effort $(field value)" >> heard
      answer "{$(effort "$(field value)")}" ;;
    *'"method":"session/prompt"'*)
      echo prompt >> heard
      answer '{"stopReason":"end_turn"}' ;;
  esac
done
