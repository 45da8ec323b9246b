package mcpapi

import (
	"encoding/json"
	"errors"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// shapes has, for each request, what its params have to fit into: the very types that the SDK reads them with. Whoever
// sends params of another form is told so here, in words that name the member; the SDK's would name its Go types.
var shapes = map[string]func() any{
	"initialize":               shaped[sdk.InitializeParams],
	"ping":                     shaped[sdk.PingParams],
	"server/discover":          shaped[sdk.DiscoverParams],
	methodCall:                 shaped[sdk.CallToolParamsRaw],
	methodList:                 shaped[sdk.ListToolsParams],
	methodListen:               shaped[sdk.SubscriptionsListenParams],
	"completion/complete":      shaped[sdk.CompleteParams],
	"logging/setLevel":         shaped[sdk.SetLoggingLevelParams],
	"prompts/get":              shaped[sdk.GetPromptParams],
	"prompts/list":             shaped[sdk.ListPromptsParams],
	"resources/list":           shaped[sdk.ListResourcesParams],
	"resources/read":           shaped[sdk.ReadResourceParams],
	"resources/subscribe":      shaped[sdk.SubscribeParams],
	"resources/unsubscribe":    shaped[sdk.UnsubscribeParams],
	"resources/templates/list": shaped[sdk.ListResourceTemplatesParams],
}

func shaped[T any]() any { return new(T) }

// needParams are the requests that cannot do without.
var needParams = map[string]bool{
	"initialize": true, methodCall: true, methodListen: true, "completion/complete": true, "logging/setLevel": true, "prompts/get": true,
	"resources/read": true, "resources/subscribe": true, "resources/unsubscribe": true,
}

// misshapen says what is wrong with the form of a request's params, in words for its sender; "" when nothing is.
func misshapen(m *message, data []byte) string {
	method := string(m.method)
	shape := shapes[method]
	if shape == nil || !m.called() {
		return ""
	}
	switch m.params.kind {
	case 0, 'n':
		if needParams[method] {
			return "$.params: " + method + " needs params, an object"
		}
		return ""
	case '{':
	default:
		return "$.params: must be an object"
	}
	var envelope struct {
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(data, &envelope); err != nil {
		return "the message is not a JSON-RPC request"
	}
	var members struct {
		Meta json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(envelope.Params, &members); err == nil && len(members.Meta) > 0 && members.Meta[0] != '{' && members.Meta[0] != 'n' {
		return "$.params._meta: must be an object"
	}
	var version struct {
		Meta struct {
			Version json.RawMessage `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(envelope.Params, &version); err == nil && len(version.Meta.Version) > 0 && version.Meta.Version[0] != '"' {
		return "$.params._meta." + sdk.MetaKeyProtocolVersion + ": must be a string"
	}
	err := json.Unmarshal(envelope.Params, shape())
	if err == nil {
		return ""
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return "$.params: not of the form that " + method + " takes"
	}
	at := "$.params"
	if field := strings.Trim(wrong.Field, "."); field != "" {
		at += "." + field
	}
	given, _, _ := strings.Cut(wrong.Value, " ") // "number 1.5" says what was sent
	return at + ": must not be " + article(given)
}

func article(kind string) string {
	switch kind {
	case "bool":
		return "a boolean"
	case "array", "object":
		return "an " + kind
	default:
		return "a " + kind
	}
}
