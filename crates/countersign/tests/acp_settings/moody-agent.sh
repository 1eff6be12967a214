# An ACP agent with modes and models in the older way, whose mood is a file of its workspace:
# `stubborn` refuses every mode, `mute` answers no request that sets something. What it is prompted with and what it
# is told to set is written down in `heard`.
answer() { printf '{"jsonrpc":"2.0","id":"%s","result":%s}\n' "$id" "$1"; }
refuse() { printf '{"jsonrpc":"2.0","id":"%s","error":{"code":-32602,"message":"%s"}}\n' "$id" "$1"; }
field() { printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
offer='"modes":{"currentModeId":"calm","availableModes":[{"id":"calm","name":"Calm"},{"id":"wild","name":"Wild"}]},
"models":{"currentModelId":"big","availableModels":[{"modelId":"big","name":"Big"},{"modelId":"small","name":"Small"}]}'
offer=$(printf '%s' "$offer" | tr -d '\n')
while IFS= read -r line; do
  id=$(field id)
  case "$line" in
    *'"method":"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*) answer "{\"sessionId\":\"moody\",$offer}" ;;
    *'"method":"session/load"'*) answer "{$offer}" ;;
    *'"method":"session/set_mode"'*)
      echo "mode $(field modeId)" >> heard
      if [ -e mute ]; then :; elif [ -e stubborn ]; then refuse 'not in this weather'; else answer '{}'; fi ;;
    *'"method":"session/set_model"'*)
      echo "model $(field modelId)" >> heard
      [ -e mute ] || answer '{}' ;;
    *'"method":"session/prompt"'*)
      echo "prompt $(field text)" >> heard
      case "$line" in *'go wild'*)
        printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"moody","update":{"sessionUpdate":"current_mode_update","currentModeId":"wild"}}}\n' ;;
      esac
      answer '{"stopReason":"end_turn"}' ;;
  esac
done
