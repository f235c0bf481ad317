import Ledger
import LedgerTesting
import Testing

struct ClientPostTests {
    private func post(_ user: String = "anna", receivedAt: Int64, eventID: Int64) throws -> ClientPost {
        try Facts.post(of: Facts.Charge("1001", onDay: 0), by: user, receivedAt: receivedAt, eventID: eventID)
    }

    @Test func `the first post by arrival is kept, event ids decide within a millisecond`() throws {
        let posts = try [(5, 1), (4, 9), (4, 7), (6, 2)].map { try post(receivedAt: $0.0, eventID: $0.1) }
        for start in posts.indices {
            var joined = posts[start]
            for other in posts { joined.join(other) }
            #expect(joined == posts[2])
        }
    }

    @Test func `users are compared byte by byte`() throws {
        let (composed, decomposed) = ("ren\u{e9}", "rene\u{301}")
        let events = try [composed, decomposed, composed].enumerated().map { index, user in
            Facts.event(Int64(index + 1), post: try post(user, receivedAt: Int64(index), eventID: Int64(index + 1)))
        }
        let fold = BatchFold(events)
        #expect(fold.posts.count == 2)
        let answer = MergeResult { $0.posts = fold.posts.mapValues { _ in .init(owner: composed, firstEventID: 1) } }
        #expect(events.map { fold.ownershipDoubt(of: $0, after: answer) } == [nil, .conflict, nil])
    }

    @Test(arguments: [("anna", nil), ("berta", .conflict), (nil, .unknown)] as [(String?, OwnershipDoubt?)])
    func `a charge belongs to the posting user, to another user, or to none`(owner: String?, doubt: OwnershipDoubt?) throws {
        let event = Facts.event(1, post: try post(receivedAt: 1, eventID: 1))
        let fold = BatchFold([event])
        let answer = MergeResult { $0.posts = fold.posts.mapValues { _ in .init(owner: owner, firstEventID: 1) } }
        #expect(fold.ownershipDoubt(of: event, after: answer) == doubt)
        #expect(fold.ownershipDoubt(of: Facts.event(2), after: answer) == nil)
    }

    @Test func `the first post of a known charge is applied, a repeated one is superseded`() throws {
        let charge = try Facts.Charge("1001", onDay: 0).fact()
        let event = Facts.event(7, transaction: charge, post: try post(receivedAt: 1, eventID: 7))
        let fold = BatchFold([event])
        let key = try #require(event.namingPost).key
        #expect(fold.result(of: event, after: MergeResult { $0.posts = [key: .init(owner: "anna", firstEventID: 7)] }) == .applied)
        #expect(fold.result(of: event, after: MergeResult { $0.posts = [key: .init(owner: "anna", firstEventID: 3)] }) == .superseded)
    }
}
