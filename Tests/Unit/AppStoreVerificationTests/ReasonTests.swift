import AppStore
import AppStoreVerification
import StrictJSON
import Testing

struct ReasonTests {
    private static let cases = ReasonCase.form + ReasonCase.chain + ReasonCase.content

    @Test(arguments: cases)
    func `each invalid JWS is refused with its reason`(item: ReasonCase) throws {
        let attempt = try item.attempt(try TestStore.genuine.get())
        let verdict = Verifier(policy: attempt.policy).verifyNotification(ArraySlice(attempt.jws.utf8), receivedAt: attempt.receivedAt)
        let rejection = try #require(verdict.rejection)
        #expect(rejection.reason == item.reason, "\(rejection)")
        #expect(rejection.location == item.location, "\(rejection)")
        #expect(rejection.isRetryable == (item.reason == .signedInTheFuture))
    }

    @Test(arguments: cases)
    func `a cached chain does not skip any check`(item: ReasonCase) throws {
        let attempt = try item.attempt(try TestStore.genuine.get())
        let verifier = Verifier(policy: attempt.policy)
        _ = verifier.verifyAny(ArraySlice(try TestStore.genuine.get().sign(Payloads.transaction).utf8), receivedAt: attempt.receivedAt)
        let verdict = verifier.verifyNotification(ArraySlice(attempt.jws.utf8), receivedAt: attempt.receivedAt)
        let rejection = try #require(verdict.rejection)
        #expect(rejection.reason == item.reason, "\(rejection)")
    }

    @Test func `every reason has a case of a JWS or a receipt`() {
        #expect(Set(Self.cases.map(\.reason)).union(ReceiptCase.all.map(\.reason)) == Set(VerificationReason.allCases))
    }

    @Test func `codes are lower snake case and differ`() {
        let codes = VerificationReason.allCases.map(\.rawValue)
        #expect(codes.allSatisfy { $0.wholeMatch(of: #/[a-z][a-z0-9_]*/#) != nil })
        #expect(Set(codes).count == codes.count)
    }

    @Test func `a rejection contains a genuine notification but nothing of a forged one`() throws {
        let store = try TestStore.genuine.get()
        var policy = try store.policy()
        policy.apps = [App(bundleID: "com.example.other")]
        let jws = try store.sign(Payloads.notification())
        let genuine = try #require(refuse(jws, policy))
        #expect(genuine.reason == .wrongBundle && genuine.notification?.notificationType == .init(rawValue: "DID_RENEW"))
        let forged = try #require(refuse(try jws.replacing(part: 2) { _ in try store.sign([]).part(2) }, policy))
        #expect(forged.reason == .signatureInvalid && forged.notification == nil)
    }

    @Test func `a description contains nothing of the payload`() throws {
        let store = try TestStore.genuine.get()
        let secret = Payloads.notification("data", Payloads.data.with("environment", ["secret"]))
        let rejection = try #require(refuse(try store.sign(secret), try store.policy()))
        #expect(rejection.description == "signedPayload: unreadable_member (data.environment)")
    }

    private func refuse(_ jws: String, _ policy: VerificationPolicy) -> Rejection? {
        Verifier(policy: policy).verifyNotification(ArraySlice(jws.utf8), receivedAt: TestStore.now).rejection
    }
}
