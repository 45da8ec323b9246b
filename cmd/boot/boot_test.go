package boot

import "testing"

func TestCollectorsAreNamedByTheEnvironment(t *testing.T) {
	const all = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		env             map[string]string
		traces, metrics bool
	}{
		{nil, false, false},
		{map[string]string{all: "http://localhost:4318"}, true, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, true, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://localhost:4318/v1/metrics"}, false, true},
		{map[string]string{all: "http://localhost:4318", "OTEL_SDK_DISABLED": "true"}, false, false},
		{map[string]string{all: "http://localhost:4318", "OTEL_TRACES_EXPORTER": "none"}, false, true},
		{map[string]string{all: "http://localhost:4318", "OTEL_METRICS_EXPORTER": "prometheus"}, true, false},
		{map[string]string{all: "http://localhost:4318", "OTEL_METRICS_EXPORTER": "prometheus, otlp"}, true, true},
		{map[string]string{"OTEL_SERVICE_NAME": "x"}, false, false},
	} {
		getenv := func(k string) string { return c.env[k] }
		if traces, metrics := asked("TRACES", getenv), asked("METRICS", getenv); traces != c.traces || metrics != c.metrics {
			t.Errorf("%v: traces %v, metrics %v", c.env, traces, metrics)
		}
	}
}

func TestListenIsForThisMachine(t *testing.T) {
	for _, address := range []string{"0.0.0.0:80", ":80", "[::]:80", "192.168.0.1:80", "example.com:80"} {
		if CheckListen(address, false) == nil {
			t.Errorf("%s is accepted", address)
		}
		if err := CheckListen(address, true); err != nil {
			t.Errorf("%s with the flag: %v", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:80", "[::1]:80"} {
		if err := CheckListen(address, false); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if CheckListen("127.0.0.1", true) == nil {
		t.Error("an address without a port is accepted")
	}
}

func TestLoggerSettings(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error"} {
		for _, format := range []string{"text", "json"} {
			if _, err := NewLogger(level, format); err != nil {
				t.Errorf("%s %s: %v", level, format, err)
			}
		}
	}
	for _, bad := range [][2]string{{"loud", "text"}, {"info", "xml"}, {"", "text"}} {
		if _, err := NewLogger(bad[0], bad[1]); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}
