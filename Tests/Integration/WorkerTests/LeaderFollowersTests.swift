import Testing

@testable import InboxQueue

struct LeaderFollowersTests {
    @Test func `one loop leads at a time, and the one that waits longest is the next`() async throws {
        let loops = LeaderFollowers()
        let first = try #require(await loops.becomeLeader())
        let (order, record) = AsyncStream.makeStream(of: Int.self)
        await withTaskGroup { group in
            for index in 1...3 {
                group.addTask {
                    guard let lead = await loops.becomeLeader() else { return }
                    record.yield(index)
                    lead.release()
                }
                // Each waits before the next one comes.
                while loops.followers < index { await Task.yield() }
            }
            first.release()
            first.release()
        }
        record.finish()
        #expect(await order.reduce(into: []) { $0.append($1) } == [1, 2, 3])
        #expect(await loops.becomeLeader() != nil)
    }

    @Test func `a full batch ends the lead at once, a small one does not`() async throws {
        let loops = LeaderFollowers()
        let lead = try #require(await loops.becomeLeader())
        lead.begin()
        #expect(!lead.hasClaimed)
        lead.claimed(isFull: false)
        #expect(lead.hasClaimed && lead.isHeld)
        lead.claimed(isFull: true)
        #expect(!lead.isHeld)
        #expect(await loops.becomeLeader() != nil)
    }

    @Test func `a follower whose task is cancelled waits no longer, and the lead is not lost`() async throws {
        let loops = LeaderFollowers()
        let lead = try #require(await loops.becomeLeader())
        let follower = Task { await loops.becomeLeader() == nil }
        while loops.followers < 1 { await Task.yield() }
        follower.cancel()
        #expect(await follower.value)
        lead.release()
        #expect(await loops.becomeLeader() != nil)
    }
}
