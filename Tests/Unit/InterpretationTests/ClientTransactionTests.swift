import AppStore
import AppStoreVerification
import Interpretation
import Ledger
import SignedTesting
import StoreSimulator
import StrictJSON
import Testing

/// A client's transaction gives the facts of a notification with it, and the user's post.
struct ClientTransactionTests {
    private let purchase: SimulatedNotification
    private let state: PurchaseState.Dated<SimulatedTransaction>

    init() throws {
        purchase = try SignedScene.trigger(NotificationKind(.subscribed, .initialBuy)).notification()
        state = try #require(purchase.state?.transaction)
    }

    private func transaction(_ change: SignedScene.Change = { _ in }) throws -> SignedValue<JWSTransactionDecodedPayload> {
        var payload = state.value.payload(of: purchase.app, signedDate: state.signedDate)
        change(&payload)
        switch try SignedScene.verifier().verifyTransaction(SignedScene.signer().sign(payload)[...], receivedAt: SignedScene.now) {
        case .valid(let signed): return signed
        case .invalid(let rejection): throw rejection
        }
    }

    private func facts(_ signed: SignedValue<JWSTransactionDecodedPayload>, user: String?) throws -> EventFacts {
        let submission = try ClientSubmission(signedTransaction: "a.b.c", user: user, environment: .production, bundleIDs: nil)
        return ClientTransactionInterpreter.facts(of: signed, in: submission, eventID: 1, receivedAt: SignedScene.now)
    }

    @Test func `the facts are those of the notification with the same transaction`() throws {
        let there = try facts(transaction(), user: "anna")
        let here = try SignedScene.facts(of: purchase)
        #expect(there.transaction?.version == here.transaction?.version)
        #expect(there.transaction?.key == here.transaction?.key)
        #expect(there.effects.map(\.key) == here.effects.map(\.key))
        #expect(there.notificationUUID == nil && there.subscription == nil)
    }

    @Test func `the facts contain the user and the time of the post`() throws {
        let post = try #require(try facts(transaction(), user: "anna").posts.first)
        let contract = LedgerKey(environment: .production, id: state.value.originalTransactionID)
        #expect(
            post.key == ClientPost.Key(contract: contract, user: "anna", isReceipt: false, transactionID: state.value.transactionID)
        )
        #expect(post.receivedAt == SignedScene.now)
    }

    @Test func `without a user there is no post`() throws {
        let facts = try facts(transaction(), user: nil)
        #expect(facts.posts.isEmpty && facts.transaction != nil)
    }

    @Test func `a transaction without a required member is unhandled, and has no post`() throws {
        let facts = try facts(transaction { $0["productId"] = nil }, user: "anna")
        #expect(facts.unhandledReason == "incomplete_transaction:productId")
        #expect(facts.transaction == nil && facts.posts.isEmpty && facts.effects.isEmpty)
    }
}
