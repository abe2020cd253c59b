package redact

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ given, want string }{
		{"", ""}, {`Pulling image "registry.example:5000/team/app:1"`,
			`Pulling image "registry.example:5000/team/app:1"`},
		// Addresses.
		{"get https://user:password@host/path: EOF", "get https://REDACTED@host/path: EOF"},
		{"get https://token@host:5000/v2/: EOF", "get https://REDACTED@host:5000/v2/: EOF"},
		{`parse "https://user:pa/ss@host/x": invalid port`, `parse "https://REDACTED@host/x": invalid port`},
		{`parse "https://user:pa?ss@host/x?y": invalid`, `parse "https://REDACTED@host/x?REDACTED": invalid`},
		{"https://user:12/34@host/x: EOF", "https://REDACTED@host/x: EOF"},
		{"https://user:12?34@host/x: EOF", "https://REDACTED@host/x: EOF"},
		{"https://user:1/2?3@host/x?y", "https://REDACTED@host/x?REDACTED"},
		{"https://u:p@ss/w@host/x: EOF", "https://REDACTED@host/x: EOF"},
		{"https://u:p@sha256:00", "https://REDACTED@sha256:00"},
		{"https://u:p@r.example/a@sha256:00: EOF", "https://REDACTED@r.example/a@sha256:00: EOF"},
		{"https://r.example:5000/a@sha256:00: EOF", "https://r.example:5000/a@sha256:00: EOF"},
		{"https://r.example/@scope/a?: EOF", "https://r.example/@scope/a?: EOF"},
		{"(https://b.s3.example/l?X-Amz-Credential=AKIA%2F1&X-Amz-Signature=abc): 403 Forbidden",
			"(https://b.s3.example/l?REDACTED): 403 Forbidden"},
		{`Head "https://r.example/v2/?scope=a": dial tcp`, `Head "https://r.example/v2/?REDACTED": dial tcp`},
		{"https://r.example/a@sha256:00: not found", "https://r.example/a@sha256:00: not found"},
		{"https://[fd00::1]:5000/a@sha256:00: not found", "https://[fd00::1]:5000/a@sha256:00: not found"},
		{"mount //nas/share failed", "mount //nas/share failed"},
		// Keys.
		{"l?X-Amz-Credential=AKIA%2F1&X-Amz-Signature=abc: EOF",
			"l?X-Amz-Credential=REDACTED&X-Amz-Signature=REDACTED: EOF"},
		{"blob?sv=1&sig=a%2Fb&token=c&se=2", "blob?sv=1&sig=REDACTED&token=REDACTED&se=2"},
		{"mount -o username=joe,password=hunter2,ro //nas/x", "mount -o username=joe,password=REDACTED,ro //nas/x"},
		{`env DB_PASSWORD="a b" MODE=fast`, `env DB_PASSWORD=REDACTED MODE=fast`},
		{"app --token=abc --password hunter2 --level 3", "app --token=REDACTED --password REDACTED --level 3"},
		{`{"auths":{"r":{"auth":"dTpw"}}}`, `{"auths":{"r":{"auth":"REDACTED"}}}`},
		{`"{\"password\":\"p\",\"user\":\"u\"}"`, `"{\"password\":\"REDACTED\",\"user\":\"u\"}"`},
		{"design=1 author=joe signal=9 tokens=5", "design=1 author=joe signal=9 tokens=5"},
		// Headers and tokens.
		{"Authorization: Basic dXNlcjpwYXNz failed", "Authorization: Basic REDACTED failed"},
		{"authorization: Bearer abc", "authorization: Bearer REDACTED"},
		{"map[Authorization:[Bearer abc]]", "map[Authorization:[Bearer REDACTED]]"},
		{"with Basic dXNlcjpwYXNz: denied", "with Basic REDACTED: denied"},
		{"Bearer abcdefgh=2", "Bearer REDACTED"},
		{"Basic dXNlcjpwYXNzdw==: denied", "Basic REDACTED: denied"},
		{"Basic dXNlcjpwYXNz=2", "Basic REDACTED"},
		{"Bearer realm=registry.example", "Bearer realm=registry.example"},
		{"Bearer error=invalid_token", "Bearer error=invalid_token"},
		{"with bearer 0123456789abcdef, expired", "with bearer REDACTED, expired"},
		{"eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln was", "REDACTED was"},
		{"ghp_0123456789abcdefghij", "REDACTED"},
		{"no basic auth credentials", "no basic auth credentials"},
		{`Bearer realm="https://auth.example/token"`, `Bearer realm="https://auth.example/token"`},
		{"bearer token expired, basic authentication", "bearer token expired, basic authentication"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x", "REDACTED x"},
	} {
		if got := Text(test.given); got != test.want {
			t.Errorf("%q\n became %q\nwant    %q", test.given, got, test.want)
		}
	}
}

func TestMessage(t *testing.T) {
	for _, c := range []struct{ reason, given, want string }{
		{"Unhealthy", "Readiness probe failed: it said hunter2", "Readiness probe failed: …"},
		{"Unhealthy", combinedPrefix + "Readiness probe failed: it said hunter2", combinedPrefix +
			"Readiness probe failed: …"},
		{"FailedPostStartHook", "Exec lifecycle hook ([sh -c login hunter2]) failed", "Exec lifecycle hook ( …"},
		{"FailedPostStartHook", "PostStartHook failed", "PostStartHook failed"},
		{"Failed", "Error: https://u:p@h: EOF", "Error: https://REDACTED@h: EOF"},
	} {
		if got := Message(c.reason, c.given); got != c.want || Message(c.reason, got) != got {
			t.Errorf("%s %q became %q, want %q", c.reason, c.given, got, c.want)
		}
	}
}

// If shorten cuts a long text in the middle of a secret, no part of the secret must remain.
func TestLongTexts(t *testing.T) {
	for before := maxText/2 - 64; before <= maxText/2+8; before += 5 {
		for _, after := range []int{maxText/2 - 64, maxText/2 - 20, maxText/2 - 3, maxText / 2, maxText/2 + 8} {
			for _, words := range []string{" Bearer ", " https://user:", " x?token="} {
				given := strings.Repeat("a ", before/2) + words + "hunter2hunter2" + "@h " +
					strings.Repeat("b ", after/2)
				if got := Text(given); strings.Contains(got, "hunter") || len(got) > maxText+16 {
					t.Fatalf("%d before, %d after: %q", before, after, got[max(0, before-20):])
				}
			}
		}
	}
	if got := Text(strings.Repeat("x", 2<<20)); len(got) > 16 {
		t.Errorf("a word of 2 MiB was shortened to %d bytes", len(got))
	}
}

// The classification of a message does not depend on the credentials in the message.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"https://u:p@h/x?y=z", "Bearer abcdefgh12", "a password=b c", `"token":"x"`,
		"Authorization: Basic dXNlcjpwYXNz",
		`Failed to pull image "https://u:p@h/x": rpc error: code = NotFound desc = failed to resolve: x: not found`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := Text(text)
		if twice := Text(once); twice != once {
			t.Errorf("%q became %q, then %q", text, once, twice)
		}
		if len(once) > 8*len(text)+64 {
			t.Errorf("%d bytes became %d", len(text), len(once))
		}
	})
}

// The words that identify failures are kept.
func TestFailureWordsAreKept(t *testing.T) {
	for _, test := range []struct {
		text string
		want imagepull.Failure
	}{
		{`failed to pull and unpack image "r.example/a:1": failed to resolve reference "r.example/a:1": failed to ` +
			`authorize: failed to fetch oauth token: unexpected status from GET request to ` +
			`https://auth.example/token?scope=repository%3Aa%3Apull&service=r.example: 401 Unauthorized`,
			imagepull.FailureUnauthorized},
		{`failed to do request: Head "https://user:pw@r.example/v2/a/manifests/1?x=y": dial tcp: lookup r.example: ` +
			`no such host`, imagepull.FailureDNS},
		{`Head "https://u:p@r.example/v2/": no basic auth credentials`, imagepull.FailureUnauthorized},
		{`httpReadSeeker: failed open: failed to do request: Get "https://s3.example/l?X-Amz-Signature=ab": 403 ` +
			`Forbidden`, imagepull.FailureForbidden},
		{`failed to fetch https://u:p@r.example/v2/a?token=b: not found`, imagepull.FailureNotFound},
	} {
		if got := imagepull.ClassifyFailure(Text(test.text)); got != test.want ||
			got != imagepull.ClassifyFailure(test.text) {
			t.Errorf("%q is %s, %s with its credentials, want %s", Text(test.text), got,
				imagepull.ClassifyFailure(test.text), test.want)
		}
	}
}

// Text must find every key, although Text skips the slow search of texts without a part of a key.
func TestEveryKeyHasAPart(t *testing.T) {
	for _, key := range []string{"password", "passwd", "passphrase", "pwd", "secret", "client_secret", "clientsecret",
		"access_token", "refreshtoken", "id_token", "auth_token", "apitoken", "session_token", "token", "sig",
		"signature", "X-Amz-Signature", "credential", "credentials", "auth", "authorization", "api-key", "apikey",
		"access_key_id", "accesskeyid", "AWSAccessKeyId", "secret-access-key", "private_key", "GoogleAccessId",
		"pa\u017fsword", "\u017fig",
	} {
		for _, text := range []string{key + "=hunter22", "--" + key + " hunter22", `"` + key + `":"hunter22"`} {
			if got := Text(text); strings.Contains(got, "hunter22") {
				t.Errorf("%q became %q", text, got)
			}
		}
	}
}

func BenchmarkText(b *testing.B) {
	for name, text := range map[string]string{
		"pulled": `Successfully pulled image "registry.example/team/app:1.2" in 5.277s (21.038s including waiting). ` +
			`Image size: 20848778 bytes.`,
		"image": "registry.example/my-team/my-app-server:v1.2.3-beta",
		"failed": `Failed to pull image "r.example/a:1": failed to resolve reference "r.example/a:1": Head ` +
			`"https://r.example/v2/a/manifests/1": EOF`,
		"most": strings.Repeat(`x-a: b "c": d=e --f https://u:p@h/i?j bearer basic gh `, 1<<15),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Text(text)
			}
		})
	}
}
