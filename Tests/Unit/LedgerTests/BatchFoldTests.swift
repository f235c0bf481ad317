import AppStore
import Ledger
import LedgerTesting
import StrictJSON
import Testing

struct BatchFoldTests {
    private func granted(_ subject: String) -> Effect {
        Effect(
            key: EffectKey(environment: .production, kind: .granted, subject: subject),
            occurredAt: Facts.timestamp(1),
            originalTransactionID: "1000",
            transactionID: subject,
            productID: "pro.monthly"
        )
    }

    /// The result of a merge into an empty ledger: all facts of the batch are new.
    private func resultOnEmptyLedger(_ fold: BatchFold) -> MergeResult {
        MergeResult { result in
            result.movedTransactions = Set(fold.transactions.keys)
            result.movedSubscriptions = Set(fold.subscriptions.keys)
            result.movedReceipts = Set(fold.transactions.filter { $0.value.receipt != nil }.keys)
            result.movedLegacyRenewals = Set(fold.legacyRenewals.keys)
            result.movedRefundStatements = Set(fold.refundStatements.keys)
            result.firstEvents = fold.notifications
            result.effectEvents = fold.effects.mapValues(\.eventID)
            result.posts = fold.posts.mapValues { MergeResult.KnownPost(owner: nil, firstEventID: $0.eventID) }
        }
    }

    @Test func `each event has the result of a batch of its own, in order`() throws {
        let older = try Facts.transaction("1001", signedDate: 1)
        let newer = try Facts.transaction("1001", signedDate: 2)
        let events = [
            Facts.event(1, transaction: newer, effects: [granted("1001")]), Facts.event(2, transaction: older, effects: [granted("1001")]),
            Facts.event(3, uuid: "uuid-1", transaction: newer, effects: [granted("1001")]), Facts.event(4),
        ]
        let fold = BatchFold(events)
        let results = events.map { fold.result(of: $0, after: resultOnEmptyLedger(fold)) }
        #expect(results == [.applied, .superseded, .duplicate, .noEffect])
    }

    @Test func `types of posted receipts count for what was posted, and for charges of which no JWS has a type`() throws {
        let kept = Facts.Charge(product: "lifetime", "1000", type: .nonConsumable, onDay: 0)
        let coins = Facts.Charge(product: "coins", "2000", type: .consumable, onDay: 0)
        func posted(_ id: Int64, _ charges: Facts.Charge...) -> EventFacts {
            var event = Facts.receiptEvent(id)
            event.awaitedReceipts = charges.map { $0.receipt(.signedReceipt, onDay: 1) }
            return event
        }
        let fold = BatchFold([
            posted(1, kept, coins), posted(2, kept.with { $0.type = .consumable }),
            Facts.receiptEvent(3, receipts: [Facts.Charge("3000", onDay: 0).receipt(.inApp, onDay: 1)]),
            Facts.event(4, transaction: try Facts.Charge("4000", onDay: 0).fact()),
            Facts.event(5, transaction: try Facts.Charge("5000", onDay: 0).with { $0.members["type"] = .null }.fact()),
        ])
        func key(_ id: String) -> LedgerKey { LedgerKey(environment: .production, id: id) }
        #expect(fold.postedTypes == [key("1000"): .nonConsumable, key("2000"): .consumable], "of two types the bytewise greatest")
        #expect(fold.typedByPosts == Set(["1000", "2000", "3000", "5000"].map(key)))
        #expect(fold.transactions.keys.map(\.id).sorted() == ["3000", "4000", "5000"])
        #expect(fold.lockedContracts.contains(key("2000")), "also the contract of a consumable")
    }

    @Test func `an older event that comes first is applied, as is the newer one after it`() throws {
        let events = [
            Facts.event(1, transaction: try Facts.transaction("1001", signedDate: 1)),
            Facts.event(2, transaction: try Facts.transaction("1001", signedDate: 2)),
        ]
        let fold = BatchFold(events)
        #expect(events.map { fold.result(of: $0, after: resultOnEmptyLedger(fold)) } == [.applied, .applied])
        #expect(fold.transactions.count == 1)
        #expect(fold.transactions.values.first?.signed?.version.signedDate == Facts.timestamp(2))
    }

    @Test func `a repeated event is applied when it brought its effects, and superseded when another event did`() throws {
        let event = Facts.event(1, transaction: try Facts.transaction("1001", signedDate: 1), effects: [granted("1001")])
        let fold = BatchFold([event])
        let key = granted("1001").key
        let notification = try #require(event.notificationKey)
        for (first, effect, result) in [(1, 1, .applied), (1, 7, .superseded), (7, 7, .duplicate)] as [(Int64, Int64, EventResult)] {
            let answer = MergeResult { ($0.firstEvents, $0.effectEvents) = ([notification: first], [key: effect]) }
            #expect(fold.result(of: event, after: answer) == result)
        }
    }

    @Test func `an event of unknown meaning is unhandled, although its facts are merged`() throws {
        var event = Facts.event(1, transaction: try Facts.transaction("1001", signedDate: 1))
        event.unhandledReason = "unknown_notification"
        let fold = BatchFold([event])
        #expect(fold.result(of: event, after: resultOnEmptyLedger(fold)) == .unhandled)
        #expect(fold.transactions.count == 1)
    }

    @Test func `two statuses signed in one millisecond are ordered by their content`() {
        let (active, expired) = (
            Facts.subscription("1000", signedDate: 5, status: .active), Facts.subscription("1000", signedDate: 5, status: .expired)
        )
        let there = BatchFold([Facts.event(1, subscription: active), Facts.event(2, subscription: expired)])
        let back = BatchFold([Facts.event(1, subscription: expired), Facts.event(2, subscription: active)])
        #expect(there.subscriptions.values.map(\.status) == back.subscriptions.values.map(\.status))
    }

    @Test func `a receipt is applied when it is the newest of any of its charges`() throws {
        let (first, second) = (Facts.Charge("1001", onDay: 0), Facts.Charge("1002", onDay: 30))
        let events = [
            Facts.receiptEvent(1, receipts: [first.receipt(.inApp, onDay: 5)]),
            Facts.receiptEvent(2, receipts: [first.receipt(.inApp, onDay: 4), second.receipt(.inApp, onDay: 4)]),
            Facts.receiptEvent(3, receipts: [first.receipt(.inApp, onDay: 3), second.receipt(.inApp, onDay: 3)]),
            Facts.event(4, transaction: try first.fact()),
        ]
        let fold = BatchFold(events)
        #expect(events.map { fold.result(of: $0, after: resultOnEmptyLedger(fold)) } == [.applied, .applied, .superseded, .applied])
        // Only the receipt half moved, not the JWS half.
        var answer = resultOnEmptyLedger(fold)
        answer.movedReceipts = [second.receipt(.inApp, onDay: 4).key]
        #expect(events.map { fold.result(of: $0, after: answer) } == [.superseded, .applied, .superseded, .applied])
    }

    @Test func `a receipt that only adds a post is applied once`() {
        let post = Facts.receiptPost("1000", by: "anna", onDay: 1, eventID: 1)
        let again = Facts.receiptPost("1000", by: "anna", onDay: 2, eventID: 2)
        let events = [Facts.receiptEvent(1, posts: [post]), Facts.receiptEvent(2, posts: [again])]
        let fold = BatchFold(events)
        #expect(events.map { fold.result(of: $0, after: resultOnEmptyLedger(fold)) } == [.applied, .superseded])
    }

    @Test func `the newest fact decides the state of a renewal; of the same change, the one with the later receipt`() throws {
        let renewals = [
            try Facts.legacyRenewal("1000", onDay: 1, seenOnDay: 3, willRenew: false),
            try Facts.legacyRenewal("1000", onDay: 1, seenOnDay: 2, willRenew: true),
        ]
        for order in [renewals, renewals.reversed()] {
            let fold = BatchFold(order.enumerated().map { Facts.receiptEvent(Int64($0), renewals: [$1]) })
            #expect(fold.legacyRenewals.values.map(\.renewal.autoRenewStatus) == [.off])
        }
    }

    @Test func `an ownership doubt is about the named charge`() {
        let post = Facts.receiptPost("1000", by: "anna", naming: "1001", onDay: 1, eventID: 1)
        let event = Facts.receiptEvent(1, posts: [Facts.receiptPost("2000", by: "anna", onDay: 1, eventID: 1), post])
        let fold = BatchFold([event])
        #expect(event.namingPost == post)
        #expect(fold.ownershipDoubt(of: event, after: MergeResult()) == .unknown)
        for (owner, doubt) in [("anna", nil), ("berta", OwnershipDoubt.conflict)] as [(String, OwnershipDoubt?)] {
            let answer = MergeResult { $0.posts = [post.key: MergeResult.KnownPost(owner: owner, firstEventID: 1)] }
            #expect(fold.ownershipDoubt(of: event, after: answer) == doubt)
        }
    }
}

extension MergeResult {
    init(_ change: (inout MergeResult) -> Void) {
        self.init()
        change(&self)
    }
}
