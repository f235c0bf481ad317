import Testing

@testable import Commands

struct ReplayTallyTests {
    @Test func `a replay is complete when all bodies were taken`() {
        var tally = ReplayTally()
        #expect(!tally.isComplete, "nothing was posted")
        tally.add(.taken, of: .line(1))
        tally.add(.taken, of: .line(2))
        #expect(tally.isComplete)
        tally.add(.refused(status: 400), of: .line(3))
        #expect(!tally.isComplete)
        #expect(tally.resumeAt == nil, "to try it again would be in vain")
    }

    @Test func `a replay resumes at the first unanswered body, even if later ones were taken`() {
        var tally = ReplayTally()
        tally.add(.unanswered(status: 503), of: .line(9))
        tally.add(.taken, of: .line(10))
        tally.add(.unanswered(status: nil), of: .line(7))
        tally.leave(.line(12))
        #expect(tally.resumeAt == .line(7))
        #expect(tally.counts == ["unanswered": 2, "taken": 1])
    }
}
