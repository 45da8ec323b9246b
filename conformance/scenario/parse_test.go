package scenario

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sawhorse-dev/sawhorse/conformance/value"
)

// fakeCatalogue knows one operation whose arguments are {"id": text, "limit"?: integer, "cursor"?: text}.
type fakeCatalogue struct{}

type fakeOp struct{ streams bool }

func (o fakeOp) Streams() bool { return o.streams }

func (fakeOp) Check(args any) error {
	object, ok := args.(map[string]any)
	if !ok {
		return errors.New("not an object")
	}
	if _, ok := object["id"].(string); !ok {
		return errors.New("id is missing")
	}
	for key, v := range object {
		_, isText := v.(string)
		_, isNumber := v.(value.Number)
		switch {
		case (key == "id" || key == "cursor") && isText, key == "limit" && isNumber:
		default:
			return errors.New("no good member " + key)
		}
	}
	return nil
}

func (fakeCatalogue) Operation(id string) (Operation, bool) {
	return fakeOp{streams: id == "wb.get"}, id == "wb.list" || id == "wb.get"
}
func (fakeCatalogue) Reason(name string) bool    { return name == "WB_NOT_FOUND" }
func (fakeCatalogue) Requirement(id string) bool { return id == "R-WB-X-1" }
func (fakeCatalogue) Protocol(name string) bool {
	return slices.Contains([]string{"http", "grpc", "ws-text", "mcp-stdio"}, name)
}

const header = "Prose.\n\n-- scenario --\nid wb/story\nrequires R-WB-X-1\n"

func TestAGoodScenarioIsRead(t *testing.T) {
	s, err := Parse("scenarios/list/story.txtar", []byte(`The story.

-- scenario --
id        wb/story
requires  R-WB-X-1
clock     2026-01-02T03:04:05Z
needs     clock crash
-- 1 call wb.list --
{"id": "a"}
-- 1 ok --
{"next": "$cursor", "...": "$any"}
-- 1 save --
c = next
-- 2 call wb.list --
{"id": "a${i}", "cursor": "${c}", "limit": 3}
-- 2 error WB_NOT_FOUND --
{"path": "x", "$names": ["$.cursor"]}
-- 2 repeat 5 --
-- 3 tick --
90s
-- 4 crash --
-- 5 wire http --
PUT /files/a%2Fb?x=1
Content-Type: text/plain
:chunked

two
lines
-- 5 reply --
201
ETag: "1"
!Location

{"g": "$int"}
-- 6 bad wb.list --
{"limit": 1}
-- 6 error WB_NOT_FOUND --
{}
`), fakeCatalogue{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Prose != "The story." || s.ID != "wb/story" || !s.NeedsClock || !s.NeedsCrash || s.NeedsEmptyRoot {
		t.Errorf("header: %+v", s)
	}
	if len(s.Steps) != 6 || s.Only() != "http" {
		t.Fatalf("%d steps, only %q", len(s.Steps), s.Only())
	}
	second := s.Steps[1]
	if second.Repeat != 5 || second.Expect.Reason != "WB_NOT_FOUND" || !slices.Equal(second.Expect.Names, []string{"$.cursor"}) {
		t.Errorf("step 2: %+v expects %+v", second, second.Expect)
	}
	if s.Steps[2].Advance != 90*time.Second {
		t.Errorf("tick %v", s.Steps[2].Advance)
	}
	raw := s.Steps[4]
	body, err := raw.Message.Body.Text(value.Names{})
	if err != nil || body != "two\nlines" || raw.Message.Method != "PUT" || !raw.Message.Chunked || len(raw.Message.Headers) != 1 {
		t.Errorf("step 5 sends %+v, body %q, %v", raw.Message, body, err)
	}
	reply := raw.Expect.Reply
	if reply.Status != 201 || reply.Kind != BodyJSON || len(reply.Headers) != 2 || !reply.Headers[1].Absent || reply.Headers[0].Value != `"1"` {
		t.Errorf("step 5 expects %+v", reply)
	}
}

func TestAGoodConversationIsRead(t *testing.T) {
	s, err := Parse("wire/story.txtar", []byte(header+`-- 1 open ws-text --
-- 2 wire ws-text --
:binary
:body hex

ff 00
-- 2 reply --
{"error": "$any"}
-- 3 recv --
{"type": "bye"}
-- 4 close --
code 1009
`), fakeCatalogue{})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Steps[1].Message.Binary || s.Steps[1].Message.Kind != BodyHex || s.Steps[3].Message.Code != 1009 {
		t.Errorf("%+v %+v", s.Steps[1].Message, s.Steps[3].Message)
	}
}

// S1 to S6: every bad file is refused at the line where it is bad.
func TestBadScenariosAreRefused(t *testing.T) {
	const call = "-- 1 call wb.list --\n{\"id\": \"a\"}\n"
	const ok = "-- 1 ok --\n{}\n"
	for name, c := range map[string]struct{ file, want string }{
		"no prose":                      {"-- scenario --\nid wb/story\nrequires R-WB-X-1\n" + call + ok, "s:1: the file begins"},
		"no header":                     {"Prose.\n" + call + ok, "s:2: the first section"},
		"nothing":                       {"Prose.\n", "s:1: the first section"},
		"no steps":                      {header, "s:3: a scenario has at least one step"},
		"header without id":             {"P\n-- scenario --\nrequires R-WB-X-1\n" + call + ok, `s:2: header "id" is missing`},
		"header without requires":       {"P\n-- scenario --\nid wb/story\n" + call + ok, `s:2: header "requires" is missing`},
		"header twice":                  {header + "id wb/story\n" + call + ok, `s:6: header "id" appears twice`},
		"header without value":          {header + "clock\n" + call + ok, `s:6: header "clock" has no value`},
		"unknown header":                {header + "color red\n" + call + ok, `s:6: no header "color"`},
		"bad id":                        {"P\n-- scenario --\nid Wb_story\nrequires R-WB-X-1\n" + call + ok, "s:3: id"},
		"id of another file":            {"P\n-- scenario --\nid wb/tale\nrequires R-WB-X-1\n" + call + ok, "s:3: id \"wb/tale\" does not end"},
		"unknown requirement":           {"P\n-- scenario --\nid wb/story\nrequires R-WB-X-1 R-WB-X-9\n" + call + ok, "s:4: no requirement R-WB-X-9"},
		"bad clock":                     {header + "clock noon\n" + call + ok, "s:6: clock"},
		"clock with an offset":          {header + "clock 2026-01-02T03:04:05+01:00\n" + call + ok, "s:6: clock"},
		"unknown need":                  {header + "needs luck\n" + call + ok, `s:6: a scenario cannot need "luck"`},
		"need of a crash without one":   {header + "needs crash\n" + call + ok, "s:3: the header needs crash"},
		"need of a clock without one":   {header + "needs clock\n" + call + ok, "s:3: the header needs clock"},
		"unknown section":               {header + call + ok + "-- remarks --\n", `s:10: unknown section "remarks"`},
		"unknown word":                  {header + call + ok + "-- 2 cal wb.list --\n", `s:10: unknown section "2 cal wb.list"`},
		"section twice":                 {header + call + ok + ok, `s:10: section "1 ok" appears twice, first in line 8`},
		"step twice":                    {header + call + ok + "-- 1 call wb.get --\n{}\n", "s:10: step 1 already does something in line 6"},
		"step out of order":             {header + call + ok + "-- 3 tick --\n1s\n", "s:10: step 3 is out of order, the next is 2"},
		"first step is two":             {header + "-- 2 tick --\n1s\n", "s:6: step 2 is out of order"},
		"expectation of another step":   {header + call + "-- 2 ok --\n{}\n", `s:8: "ok" belongs to step 2`},
		"expectation before any":        {header + "-- 1 ok --\n{}\n", `s:6: "ok" belongs to step 1`},
		"two expectations":              {header + call + ok + "-- 1 error WB_NOT_FOUND --\n{}\n", "s:10: step 1 already expects something in line 8"},
		"no expectation":                {header + call, "s:6: step 1 does not say what it expects"},
		"reply to a call":               {header + call + "-- 1 reply --\n200\n", "s:8: a call is answered with ok or error"},
		"ok to a wire":                  {header + "-- 1 wire http --\nGET /\n-- 1 ok --\n{}\n", "s:8: a wire step is answered"},
		"answer to a tick":              {header + "needs clock\n-- 1 tick --\n1s\n-- 1 ok --\n{}\n", "s:9: nothing answers tick"},
		"ok with argument":              {header + call + "-- 1 ok yes --\n{}\n", "s:8: ok takes no argument"},
		"unknown reason":                {header + call + "-- 1 error WB_LOST --\n{}\n", `s:8: no reason "WB_LOST"`},
		"details that are no object":    {header + call + "-- 1 error WB_NOT_FOUND --\n[]\n", "s:8: the body of error is an object"},
		"names that are no text":        {header + call + "-- 1 error WB_NOT_FOUND --\n{\"$names\": 3}\n", "s:8: $names is a text"},
		"unknown operation":             {header + "-- 1 call wb.lift --\n{}\n-- 1 ok --\n{}\n", `s:6: no operation "wb.lift"`},
		"operation without JSON":        {header + "-- 1 call wb.get --\n{}\n-- 1 ok --\n{}\n", "s:6: wb.get has no arguments in JSON"},
		"call against the schema":       {header + "-- 1 call wb.list --\n{\"limit\": 1}\n-- 1 ok --\n{}\n", "s:6: the arguments violate the schema of wb.list: id is missing"},
		"bad that is good":              {header + "-- 1 bad wb.list --\n{\"id\": \"a\"}\n-- 1 ok --\n{}\n", "s:6: the arguments of bad satisfy"},
		"arguments that are no JSON":    {header + "-- 1 call wb.list --\n{\"id\": }\n-- 1 ok --\n{}\n", "s:6: not a JSON value"},
		"arguments with a member twice": {header + "-- 1 call wb.list --\n{\"id\": \"a\", \"id\": \"b\"}\n-- 1 ok --\n{}\n", "s:6: not a JSON value"},
		"matcher that is sent":          {header + "-- 1 call wb.list --\n{\"id\": \"$any\"}\n-- 1 ok --\n{}\n", `s:6: id: the matcher "$any" stands`},
		"pattern with a bad matcher":    {header + call + "-- 1 ok --\n{\"a\": \"$number\"}\n", "s:8: a: \"$number\" is no matcher"},
		"save that is not used":         {header + call + ok + "-- 1 save --\ng = a\n", `s:11: "g" is saved and never used`},
		"save used only after another":  {header + call + ok + "-- 1 save --\ng = a\n-- 2 call wb.list --\n{\"id\":\"a\"}\n-- 2 ok --\n{}\n-- 2 save --\ng = a\n-- 3 call wb.list --\n{\"id\":\"${g}\"}\n-- 3 ok --\n{}\n", `s:11: "g" is saved and never used`},
		"save of nothing":               {header + call + ok + "-- 1 save --\n", "s:10: save names nothing"},
		"save in a bad form":            {header + call + ok + "-- 1 save --\nG = a\n", `s:11: "G = a" is not of the form`},
		"save over a builtin":           {header + call + ok + "-- 1 save --\nroot = a\n", `s:11: "root" always has a value`},
		"save without answer":           {header + "needs clock\n-- 1 tick --\n1s\n-- 1 save --\na = b\n-- 2 call wb.list --\n{\"id\":\"${a}\"}\n-- 2 ok --\n{}\n", "s:10: step 1 has no answer to save from"},
		"use without save":              {header + "-- 1 call wb.list --\n{\"id\": \"${g}\"}\n-- 1 ok --\n{}\n", `s:6: step 1 uses "g", which nothing above it saves`},
		"use in the step that saves":    {header + call + "-- 1 ok --\n{\"a\": \"${g}\"}\n-- 1 save --\ng = a\n", `s:6: step 1 uses "g"`},
		"number without repetition":     {header + "-- 1 call wb.list --\n{\"id\": \"a${i}\"}\n-- 1 ok --\n{}\n", "s:6: step 1 uses ${i} and is not repeated"},
		"repeat once":                   {header + call + ok + "-- 1 repeat 1 --\n", "s:10: repeat takes a count"},
		"too many at once":              {header + call + ok + "-- 1 repeat 65 at once --\n", "s:10: at most 64 calls"},
		"save from many at once":        {header + call + ok + "-- 1 save --\na = b\n-- 1 repeat 2 at once --\n-- 2 call wb.list --\n{\"id\":\"${a}\"}\n-- 2 ok --\n{}\n", "s:11: calls that run at once"},
		"answer to a cut request":       {header + "-- 1 wire http --\nPUT /\n:cut\n\nx\n-- 1 reply --\n200\n", "s:11: nothing answers a request that is cut"},
		"bad declaration":               {header + "-- 1 wire http --\nPUT /\n:declare lots\n-- 1 reply --\n200\n", "s:8: declare takes a length"},
		"repeat of a tick":              {header + "needs clock\n-- 1 tick --\n1s\n-- 1 repeat 2 --\n", "s:9: only a call can be repeated"},
		"tick without need":             {header + "-- 1 tick --\n1s\n", "s:6: tick moves the clock"},
		"tick that stands still":        {header + "needs clock\n-- 1 tick --\n0s\n", "s:7: tick"},
		"crash without need":            {header + "-- 1 crash --\n", "s:6: crash cuts the power"},
		"unknown protocol":              {header + "-- 1 wire smoke --\nGET /\n-- 1 reply --\n200\n", `s:6: no protocol "smoke"`},
		"two protocols":                 {header + "-- 1 wire http --\nGET /\n-- 1 reply --\n200\n-- 2 wire grpc --\nPOST /\n-- 2 reply --\n200\n", "s:10: the raw steps of one scenario speak one protocol"},
		"bad request line":              {header + "-- 1 wire http --\nFETCH /\n-- 1 reply --\n200\n", `s:7: "FETCH /" is not METHOD /path`},
		"bad status":                    {header + "-- 1 wire http --\nGET /\n-- 1 reply --\nfine\n", `s:9: "fine" is not an HTTP status`},
		"bad header line":               {header + "-- 1 wire http --\nGET /\nno_header: x\n-- 1 reply --\n200\n", "s:8: \"no_header: x\" is neither"},
		"bad directive":                 {header + "-- 1 wire http --\nGET /\n:body yaml\n-- 1 reply --\n200\n", "s:8: no body of kind \"yaml\""},
		"absent header that is sent":    {header + "-- 1 wire http --\nGET /\n!ETag\n-- 1 reply --\n200\n", "s:8: only a reply"},
		"wire without connection":       {header + "-- 1 wire ws-text --\n{}\n-- 1 reply --\n{}\n", "s:6: no connection is open"},
		"connection over HTTP":          {header + "-- 1 open http --\n", "s:6: http has no connection to open"},
		"connection left open":          {header + "-- 1 open ws-text --\n", "s:6: a connection is left open"},
		"recv after close":              {header + "-- 1 open ws-text --\n-- 2 close --\n-- 3 recv --\n{}\n", "s:8: no connection is open"},
		"bad close":                     {header + "-- 1 open ws-text --\n-- 2 close --\nsoon\n", "s:7: the body of close"},
	} {
		_, err := Parse("story.txtar", []byte(c.file), fakeCatalogue{})
		want := strings.Replace(c.want, "s:", "story.txtar:", 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestAGoodTableIsRead(t *testing.T) {
	table, err := ParseTable("malformed/story.txtar", []byte(`Rows.

-- table --
id        malformed/story
requires  R-WB-X-1
op        wb.list
reason    WB_NOT_FOUND
-- arguments --
{"id": "a"${more}}
-- rows --
case      | more                | names | level  | reason   | wires
unknown   | , "x": 1            | $.x y |        |          |
broken    | , "\xff\u0000"      |       | syntax |          | http ws-text
long      | , "${repeat:3:ab}": |       |        |          |
harmless  |                     |       |        | accepted |
`), fakeCatalogue{})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 4 || table.Op != "wb.list" || table.HTTP {
		t.Fatalf("%+v", table)
	}
	first, broken, long, harmless := table.Rows[0], table.Rows[1], table.Rows[2], table.Rows[3]
	if string(first.Arguments) != `{"id": "a", "x": 1}` || !slices.Equal(first.Names, []string{"$.x", "y"}) || first.Reason != "WB_NOT_FOUND" || first.Level != LevelValue {
		t.Errorf("first: %+v", first)
	}
	if string(broken.Arguments) != "{\"id\": \"a\", \"\xff\\u0000\"}" || broken.Level != LevelSyntax || !slices.Equal(broken.Wires, []string{"http", "ws-text"}) {
		t.Errorf("broken: %q %+v", broken.Arguments, broken)
	}
	if string(long.Arguments) != `{"id": "a", "ababab":}` {
		t.Errorf("long: %q", long.Arguments)
	}
	if !harmless.Accept || harmless.Reason != "" {
		t.Errorf("harmless: %+v", harmless)
	}
}

func TestATableOfRequestsIsRead(t *testing.T) {
	table, err := ParseTable("malformed/story.txtar", []byte(`Rows.

-- table --
id        malformed/story
requires  R-WB-X-1
reason    WB_NOT_FOUND
-- request --
GET /files/${path}
-- rows --
case | path
dots | %2e%2e/a
$sum | $x
`), fakeCatalogue{})
	if err == nil || !strings.Contains(err.Error(), `:12: case "$sum" is not a new name`) {
		t.Fatalf("a bad case name: %v", err)
	}
	table, err = ParseTable("malformed/story.txtar", []byte(`Rows.

-- table --
id        malformed/story
requires  R-WB-X-1
reason    WB_NOT_FOUND
-- request --
GET /files/${path}
-- rows --
case   | path
dots   | %2e%2e/a
dollar | $$${repeat:1:x}
`), fakeCatalogue{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"/files/%2e%2e/a", "/files/$x"} {
		got, err := table.Rows[i].Request.Path.Text(value.Names{})
		if err != nil || got != want {
			t.Errorf("row %d asks for %q, %v, want %q", i, got, err, want)
		}
	}
}

func TestBadTablesAreRefused(t *testing.T) {
	const top = "P\n-- table --\nid m/story\nrequires R-WB-X-1\nop wb.list\nreason WB_NOT_FOUND\n"
	const args = "-- arguments --\n{\"id\": ${x}}\n"
	for name, c := range map[string]struct{ file, want string }{
		"no rows section":     {top + args, ":1: a table has the sections"},
		"no rows":             {top + args + "-- rows --\ncase | x\n", ":9: a table has at least one row"},
		"no operation":        {strings.Replace(top, "op wb.list\n", "", 1) + args + "-- rows --\ncase | x\na | 1\n", `:2: header "op" is missing`},
		"unknown operation":   {strings.Replace(top, "wb.list", "wb.lift", 1) + args + "-- rows --\ncase | x\na | 1\n", `:5: no operation "wb.lift"`},
		"unknown reason":      {strings.Replace(top, "WB_NOT_FOUND", "NO", 1) + args + "-- rows --\ncase | x\na | 1\n", `:6: no reason "NO"`},
		"unknown requirement": {strings.Replace(top, "R-WB-X-1", "R-1", 1) + args + "-- rows --\ncase | x\na | 1\n", ":4: no requirement R-1"},
		"ragged row":          {top + args + "-- rows --\ncase | x\na | 1 | 2\n", ":11: 3 cells under 2 columns"},
		"case twice":          {top + args + "-- rows --\ncase | x\na | 1\na | 2\n", `:12: case "a" is not a new name`},
		"hole without column": {top + args + "-- rows --\ncase | names\na | b\n", `:11: nothing is saved as "x"`},
		"column without hole": {top + args + "-- rows --\ncase | x | y\na | 1 | 2\n", `:10: column "y" fills no hole`},
		"unknown level":       {top + args + "-- rows --\ncase | x | level\na | 1 | deep\n", `:11: no level "deep"`},
		"unknown wire":        {top + args + "-- rows --\ncase | x | wires\na | 1 | smoke\n", `:11: no protocol "smoke"`},
		"names of a good row": {top + args + "-- rows --\ncase | x | names | reason\na | 1 | x | accepted\n", ":11: an accepted row"},
		"first column":        {top + args + "-- rows --\nx | case\n1 | a\n", ":10: the first column is case"},
		"request with op":     {top + "-- request --\nGET /${x}\n-- rows --\ncase | x\na | 1\n", ":2: a table of requests names no operation"},
		"rows without reason": {strings.Replace(top, "reason WB_NOT_FOUND\n", "", 1) + args + "-- rows --\ncase | x\na | 1\n", `:10: case "a" has no reason`},
	} {
		_, err := ParseTable("story.txtar", []byte(c.file), fakeCatalogue{})
		if err == nil || !strings.Contains(err.Error(), "story.txtar"+c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
