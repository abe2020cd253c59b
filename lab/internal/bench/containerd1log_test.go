package bench

import "testing"

func TestMessagesOfContainerd1(t *testing.T) {
	for _, test := range []struct{ message, want string }{
		{`RunPodSandbox for &PodSandboxMetadata{Name:web-0,Uid:u1,Namespace:shop,Attempt:0,}`,
			`RunPodSandbox for name:"web-0" uid:"u1" namespace:"shop"`},
		{`RunPodSandbox for &PodSandboxMetadata{Name:web-0,Uid:u1,Namespace:shop,Attempt:2,} returns sandbox id "s1"`,
			`RunPodSandbox for name:"web-0" uid:"u1" namespace:"shop" attempt:2 returns sandbox id "s1"`},
		{`CreateContainer within sandbox "s1" for container &ContainerMetadata{Name:main,Attempt:1,}`,
			`CreateContainer within sandbox "s1" for container name:"main" attempt:1`},
		{`received exit event container_id:"c1" id:"c1" pid:7`,
			`received container exit event container_id:"c1" id:"c1" pid:7`},
		{`received exit event &TaskExit{ContainerID:c1,ID:c1,Pid:7,ExitStatus:3,` +
			`ExitedAt:2026-01-01 00:00:10.5 +0000 UTC,XXX_unrecognized:[],}`,
			`received container exit event container_id:"c1" id:"c1" pid:7 exit_status:3 ` +
				`exited_at:{seconds:1767225610 nanos:500000000}`},
		{`StartContainer for "c1" returns successfully`, `StartContainer for "c1" returns successfully`},
	} {
		if got := asContainerd2(test.message); got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.message, got, test.want)
		}
	}
}
