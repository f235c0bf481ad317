import AppStore
import OpenSSL
import StoreSimulator
import StrictJSON
import Testing

@testable import AppStoreVerification

/// The record of the checks beside what the verifiers decide.
struct VerificationDiagnosticsTests {
    private static let cases = ReasonCase.form + ReasonCase.chain + ReasonCase.content

    @Test(arguments: cases)
    func `a refused JWS is recorded up to the check that failed`(item: ReasonCase) throws {
        let attempt = try item.attempt(try TestStore.genuine.get())
        let (verifier, jws) = (Verifier(policy: attempt.policy), ArraySlice(attempt.jws.utf8))
        let diagnostics = VerificationDiagnostics()
        let verdict = verifier.verifyNotification(jws, receivedAt: attempt.receivedAt, diagnostics: diagnostics)
        let rejection = try #require(verdict.rejection)
        #expect(verifier.verifyNotification(jws, receivedAt: attempt.receivedAt).rejection == rejection)
        Self.expect(diagnostics, toEndWith: rejection)
        #expect((rejection.location, rejection.reason) == (item.location, item.reason))
    }

    @Test(arguments: ReceiptCase.all)
    func `a refused receipt is recorded up to the check that failed`(item: ReceiptCase) throws {
        let attempt = try item.attempt()
        let verifier = ReceiptVerifier(policy: attempt.policy)
        let diagnostics = VerificationDiagnostics()
        let rejection = try #require(
            verifier.verify(attempt.input[...], receivedAt: TestReceipts.now, diagnostics: diagnostics).rejection
        )
        #expect(verifier.verify(attempt.input[...], receivedAt: TestReceipts.now).rejection == rejection)
        Self.expect(diagnostics, toEndWith: rejection)
    }

    /// Every check of the parts before was made and passed, so were those before the failed one; no later check is recorded.
    private static func expect(_ diagnostics: VerificationDiagnostics, toEndWith rejection: Rejection) {
        for part in diagnostics.parts.dropLast() {
            #expect(part.notReached == [] && part.checks.allSatisfy { $0.failure == nil })
        }
        guard let part = diagnostics.parts.last, let check = part.checks.last else {
            Issue.record("nothing is recorded")
            return
        }
        #expect(part.location == rejection.location)
        #expect(check.failure == VerificationDiagnostics.Failure(reason: rejection.reason, detail: rejection.detail))
        #expect(part.checks.dropLast().allSatisfy { $0.failure == nil })
        let steps = part.checks.map(\.step)
        #expect(Set(steps).count == steps.count && Set(steps).isDisjoint(with: part.notReached))
        let required: [VerificationStep] =
            switch part.location {
            case "receipt": .receipt
            case "signedPayload": .jws(.notification)
            case "data.signedTransactionInfo": .jws(.transaction, isNested: true)
            case "data.signedRenewalInfo": .jws(.renewalInfo, isNested: true)
            default: .jws(.appTransaction, isNested: true)
            }
        #expect(steps + part.notReached == required, "each required check was made in its order, or not reached")
    }

    @Test func `each reason belongs to one check, and each check of a JWS can fail`() throws {
        var steps: [VerificationReason: Set<VerificationStep>] = [:]
        for item in Self.cases {
            let attempt = try item.attempt(try TestStore.genuine.get())
            let diagnostics = VerificationDiagnostics()
            _ = Verifier(policy: attempt.policy)
                .verifyNotification(ArraySlice(attempt.jws.utf8), receivedAt: attempt.receivedAt, diagnostics: diagnostics)
            steps[item.reason, default: []].insert(try #require(diagnostics.parts.last?.checks.last?.step))
        }
        // Several checks need a member.
        #expect(steps.allSatisfy { $0.key == .unreadableMember || $0.value.count == 1 })
        #expect(steps.values.reduce(into: Set()) { $0.formUnion($1) } == Set(VerificationStep.allCases))
    }

    @Test func `a genuine notification passes every check of every part, also below a chain that is cached`() throws {
        let store = try TestStore.genuine.get()
        let (verifier, jws) = (Verifier(policy: try store.policy()), ArraySlice(try store.sign(Payloads.full(store)).utf8))
        for _ in 1...2 {
            let diagnostics = VerificationDiagnostics()
            _ = verifier.verifyNotification(jws, receivedAt: TestStore.now, diagnostics: diagnostics)
            #expect(diagnostics.parts.map(\.location) == ["signedPayload", "data.signedTransactionInfo", "data.signedRenewalInfo"])
            #expect(diagnostics.parts.allSatisfy { $0.notReached == [] && $0.checks.allSatisfy { $0.failure == nil } })
            let steps = diagnostics.parts.map { $0.checks.map(\.step) }
            #expect(steps[0] == VerificationStep.allCases.dropLast())
            #expect(steps[1] == VerificationStep.allCases.dropLast())
            #expect(steps[2] == VerificationStep.allCases.filter { $0 != .app })
        }
    }

    @Test func `a JWS of any kind must pass the checks of its kind`() throws {
        let store = try TestStore.genuine.get()
        let diagnostics = VerificationDiagnostics()
        let jws = ArraySlice(try store.sign(Payloads.transaction).utf8)
        _ = Verifier(policy: try store.policy()).verifyAny(jws, receivedAt: TestStore.now, diagnostics: diagnostics)
        let steps = VerificationStep.allCases.filter { $0 != .agreement && $0 != .contract }
        #expect(diagnostics.parts.map { $0.checks.map(\.step) } == [steps])
    }

    @Test func `of several certificates with the signer's serial number, the one that decided is recorded`() throws {
        var envelope = try TestReceipts.envelope()
        var broken = envelope.certificates[0]
        broken[broken.count - 1] ^= 1
        envelope.certificates.insert(broken, at: 0)
        let diagnostics = VerificationDiagnostics()
        let verifier = ReceiptVerifier(policy: try TestReceipts.policy())
        #expect(verifier.verify(envelope.encoded()[...], receivedAt: TestReceipts.now, diagnostics: diagnostics).accepted != nil)
        #expect(diagnostics.parts.map { $0.checks.map(\.step) } == [.receipt])
        #expect(diagnostics.parts[0].checks.allSatisfy { $0.failure == nil })
    }

    @Test(arguments: VerificationStep.allCases.dropLast())
    func `when a step and all later ones are wrong, that step fails`(first: VerificationStep) throws {
        let wrong = Set(VerificationStep.allCases.drop { $0 != first })
        let (jws, policy) = try Self.jws(with: wrong)
        let diagnostics = VerificationDiagnostics()
        _ = Verifier(policy: policy).verifyNotification(ArraySlice(jws.utf8), receivedAt: TestStore.now, diagnostics: diagnostics)
        #expect(diagnostics.parts.count == 1)
        #expect(diagnostics.parts[0].checks.first { $0.failure != nil }?.step == first)
    }

    /// A notification that is wrong in each of these steps.
    private static func jws(with wrong: Set<VerificationStep>) throws -> (String, VerificationPolicy) {
        let store = try TestStore { options in
            if wrong.contains(.intermediate) { options.intermediate.extensions = [] }
            if wrong.contains(.leaf) { options.leaf.extensions = [] }
        }
        var policy = try store.policy()
        if wrong.contains(.chain) { policy.roots = [.appleRootCAG3] }
        if wrong.contains(.environment) { policy.environments = [.sandbox] }
        if wrong.contains(.app) { policy.apps = [App(bundleID: "com.example.other")] }
        if wrong.contains(.revocation) { policy.revocations.add(store.leaf.sha256Fingerprint, refusing: .all) }
        var jws = try store.sign(payload(wrong), header: header(of: store, wrong))
        if wrong.contains(.signature) {
            let other = try store.sign([:])
            jws = jws.replacing(part: 2) { _ in other.part(2) }
        }
        if wrong.contains(.form) { jws = jws.replacing(part: 2) { $0 + "=" } }
        return (jws, policy)
    }

    private static func payload(_ wrong: Set<VerificationStep>) -> JSONObject {
        var payload = Payloads.notification()
        if wrong.contains(.clock) { payload["signedDate"] = .integer(TestStore.now.millisecondsSince1970 + 300_001) }
        if wrong.contains(.agreement) { payload["summary"] = .object(Payloads.data.with("bundleId", "com.example.another")) }
        if wrong.contains(.kind) { payload["notificationUUID"] = nil }
        if wrong.contains(.signedDate) { payload["signedDate"] = nil }
        return payload
    }

    private static func header(of store: TestStore, _ wrong: Set<VerificationStep>) -> JSONObject {
        var header = store.header
        if wrong.contains(.certificates) { header = store.header(of: [store.leaf, store.intermediate]) }
        if wrong.contains(.algorithm) { header["alg"] = "RS256" }
        if wrong.contains(.header) { header["crit"] = ["exp"] }
        return header
    }
}
