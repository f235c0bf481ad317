import InboxQueue
import Testing

struct RetryPolicyTests {
    @Test func `delays double up to the maximum, half of each by chance, and end`() {
        let policy = RetryPolicy(maximumAttempts: 6, baseDelay: .seconds(1), maximumDelay: .seconds(5))
        var generator = SystemRandomNumberGenerator()
        for (failures, full) in [(1, 1.0), (2, 2), (3, 4), (4, 5), (5, 5)] {
            for _ in 0..<50 {
                let delay = policy.delay(afterFailures: failures, using: &generator)
                #expect(delay.map { $0 >= .seconds(full / 2) && $0 <= .seconds(full) } == true)
            }
        }
        #expect(policy.delay(afterFailures: 6, using: &generator) == nil)
    }

    @Test func `many failures do not overflow`() {
        let policy = RetryPolicy(maximumAttempts: .max)
        var generator = SystemRandomNumberGenerator()
        #expect(policy.delay(afterFailures: 1_000_000, using: &generator).map { $0 <= policy.maximumDelay } == true)
    }
}
