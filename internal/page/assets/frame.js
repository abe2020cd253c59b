// perFrame makes a function that has the work done once before the next frame, however often it is called until then. A page that
// nobody sees has no frames and does no work.
export function perFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}
