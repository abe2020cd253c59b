package timeline

// refusalClaims date by a container's pull when kubelet first could not create that container. Kubelet tries to right after it got
// the image (pkg/kubelet/kuberuntime, startContainer), and says in the pod's status that it failed only when it comes back
// to the pod, which may be when the reason is gone. A status that is later than that was not written by a kubelet at work.
func (f *fold) refusalClaims(index int16) (claims []claim) {
	pulled := f.pulls[index].pulled
	if !pulled.known() || pulled.present {
		return nil
	}
	by := pulled.latest + eventSlack
	key := markKey{index, 0, MarkConfigRefused}
	if latest, known := f.e.latest(key); known && by < latest && latest-by <= instant(podRetry+retrySlack) {
		claims = append(claims, claim{key, originEventDuration, leanEarliest, pulled.earliest, by})
	}
	return claims
}
