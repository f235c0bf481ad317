import AppStore
import OpenSSL
import StrictJSON
import Testing

@testable import AppStoreVerification

struct VerifierTests {
    private let store: TestStore
    private let verifier: Verifier

    init() throws {
        store = try TestStore.genuine.get()
        verifier = Verifier(policy: try store.policy())
    }

    @Test func `a full notification yields every part`() throws {
        let payload = try Payloads.full(store)
        let verified = try #require(verify(payload))
        #expect(verified.environment == .production && verified.bundleID == Payloads.bundleID)
        #expect(verified.notification.value.data?.status?.rawValue == 1)
        #expect(verified.transaction?.value.transactionId == "2000")
        #expect(verified.renewalInfo?.value.autoRenewProductId == "monthly")
        #expect(verified.appTransaction == nil)
        #expect(verified.notification.payloadBytes == JSONSerializer.serialize(payload))
        #expect(verified.notification.payloadHash == Digest.sha256(JSONSerializer.serialize(payload)))
        #expect(verified.notification.signedDate == TestStore.now)
    }

    @Test func `a test notification has data and nothing nested`() throws {
        let verified = try #require(verify(Payloads.notification().with("notificationType", "TEST")))
        #expect(verified.transaction == nil && verified.renewalInfo == nil)
    }

    @Test(arguments: [("SANDBOX_1", AppStoreEnvironment.sandbox), ("b1", .production)])
    func `the prefix of an external purchase token determines its environment`(id: String, environment: AppStoreEnvironment) throws {
        let token = Payloads.data.with("environment", nil).with("externalPurchaseId", .string(id))
        #expect(try #require(verify(Payloads.notification("externalPurchaseToken", token))).environment == environment)
    }

    @Test func `a summary or app data names environment and bundle too`() throws {
        #expect(verify(Payloads.notification("summary", Payloads.data)) != nil)
        let appTransaction = try store.sign(Payloads.appTransaction)
        let appData = Payloads.data.with("signedAppTransactionInfo", .string(appTransaction))
        #expect(try #require(verify(Payloads.notification("appData", appData))).appTransaction?.value.originalApplicationVersion == "1.0")
    }

    @Test func `old nested payloads without environment or bundle take those of the notification`() throws {
        let transaction = Payloads.transaction.with("environment", nil).with("bundleId", nil).with("productId", "yearly")
        let renewalInfo = Payloads.renewalInfo.with("environment", nil).with("productId", "monthly")
        #expect(verify(try Payloads.full(store, transaction: transaction, renewalInfo: renewalInfo)) != nil)
    }

    @Test func `an app's number is required in production only`() throws {
        let sandbox = Payloads.data.with("environment", "Sandbox").with("appAppleId", nil)
        #expect(verify(Payloads.notification("data", sandbox)) != nil)
        #expect(verify(Payloads.notification("data", sandbox.with("appAppleId", 0))) != nil)
    }

    @Test func `a number may be required without a bundle`() throws {
        var policy = VerificationPolicy(apps: nil, environments: nil, roots: try store.policy().roots, appAppleID: 99)
        let jws = ArraySlice(try store.sign(Payloads.notification()).utf8)
        #expect(reason(Verifier(policy: policy).verifyNotification(jws, receivedAt: TestStore.now)) == .wrongAppAppleID)
        policy.appAppleID = Payloads.appAppleID
        #expect(reason(Verifier(policy: policy).verifyNotification(jws, receivedAt: TestStore.now)) == nil)
    }

    @Test func `each kind is verified standalone and by verifyAny`() throws {
        let transaction = try signed(Payloads.transaction)
        let renewalInfo = try signed(Payloads.renewalInfo)
        let appTransaction = try signed(Payloads.appTransaction)
        let now = TestStore.now
        #expect(reason(verifier.verifyTransaction(transaction, receivedAt: now)) == nil)
        #expect(reason(verifier.verifyRenewalInfo(renewalInfo, receivedAt: now)) == nil)
        #expect(reason(verifier.verifyAppTransaction(appTransaction, receivedAt: now)) == nil)
        #expect(reason(verifier.verifyTransaction(renewalInfo, receivedAt: now)) == .wrongKind)
        #expect(reason(verifier.verifyRenewalInfo(appTransaction, receivedAt: now)) == .wrongKind)
        #expect(reason(verifier.verifyAppTransaction(transaction, receivedAt: now)) == .wrongKind)
        guard case .valid(.transaction) = verifier.verifyAny(transaction, receivedAt: now),
            case .valid(.renewalInfo) = verifier.verifyAny(renewalInfo, receivedAt: now),
            case .valid(.appTransaction) = verifier.verifyAny(appTransaction, receivedAt: now),
            case .valid(.notification) = verifier.verifyAny(try signed(Payloads.full(store)), receivedAt: now)
        else {
            Issue.record("a kind was mistaken for another")
            return
        }
    }

    @Test func `a standalone transaction must be of a configured app and environment`() throws {
        let now = TestStore.now
        #expect(
            reason(verifier.verifyTransaction(try signed(Payloads.transaction.with("bundleId", "a.b")), receivedAt: now)) == .wrongBundle
        )
        let xcode = Payloads.transaction.with("environment", "Xcode")
        #expect(reason(verifier.verifyTransaction(try signed(xcode), receivedAt: now)) == .environmentNotSupported)
        #expect(reason(verifier.verifyTransaction(try signed(Payloads.transaction.with("environment", nil)), receivedAt: now)) == nil)
        let limited = Verifier(policy: try store.policy(trustedFor: [.sandbox]))
        let unnamed = try signed(Payloads.transaction.with("environment", nil))
        #expect(reason(limited.verifyTransaction(unnamed, receivedAt: now)) == .environmentNotTrustedByRoot)
        let both = Verifier(policy: try store.policy(trustedFor: [.sandbox, .production]))
        #expect(reason(both.verifyTransaction(unnamed, receivedAt: now)) == nil)
    }

    @Test func `certificates without key usage do not restrict their keys`() throws {
        let store = try TestStore { options in
            options.intermediate.keyUsage = nil
            options.leaf.keyUsage = nil
        }
        let jws = ArraySlice(try store.sign(Payloads.notification()).utf8)
        #expect(reason(Verifier(policy: try store.policy()).verifyNotification(jws, receivedAt: TestStore.now)) == nil)
    }

    @Test func `a clock difference of five minutes is tolerated`() throws {
        let jws = try signed(Payloads.notification())
        let early = TestStore.now.advanced(by: .seconds(-300))
        #expect(reason(verifier.verifyNotification(jws, receivedAt: early)) == nil)
        #expect(reason(verifier.verifyNotification(jws, receivedAt: early.advanced(by: .milliseconds(-1)))) == .signedInTheFuture)
    }

    @Test func `an app transaction is verified at its receiptCreationDate`() throws {
        let late = Payloads.appTransaction.with("signedDate", .integer(Timestamp.decodableMilliseconds.upperBound))
        #expect(reason(verifier.verifyAppTransaction(try signed(late), receivedAt: TestStore.now)) == nil)
    }

    @Test func `unused header members are ignored`() throws {
        let header = store.header.with("kid", "1").with("jku", "https://example.com").with("x5u", "https://example.com").with(
            "jwk",
            ["kty": "EC"]
        )
        let jws = ArraySlice(try store.sign(Payloads.notification(), header: header).utf8)
        #expect(reason(verifier.verifyNotification(jws, receivedAt: TestStore.now)) == nil)
    }

    private func signed(_ payload: JSONObject) throws -> ArraySlice<UInt8> { ArraySlice(try store.sign(payload).utf8) }

    private func verify(_ payload: JSONObject) -> VerifiedNotification? {
        do {
            switch verifier.verifyNotification(try signed(payload), receivedAt: TestStore.now) {
            case .valid(let verified): return verified
            case .invalid(let rejection): Issue.record("\(rejection)")
            }
        } catch {
            Issue.record(error)
        }
        return nil
    }

    private func reason<Value>(_ verdict: Verdict<Value>) -> VerificationReason? {
        if case .invalid(let rejection) = verdict { rejection.reason } else { nil }
    }
}
