import Testing

@testable import Worker

struct PollPauseTests {
    @Test func `pauses double up to the limit, a quarter of each is random, and an event resets them`() {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<500 {
            var pause = PollPause(minimum: .milliseconds(5), maximum: .milliseconds(100))
            for bound in [5, 10, 20, 40, 80, 100, 100] {
                let next = pause.next(using: &generator)
                #expect(next >= .milliseconds(bound) * 3 / 4)
                #expect(next <= .milliseconds(bound))
            }
            pause.reset()
            #expect(pause.next(using: &generator) <= .milliseconds(5))
        }
    }
}
