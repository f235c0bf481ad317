import AppStore
import OpenSSL
import StrictJSON
import Testing

@testable import AppStoreVerification

struct VerificationStepTests {
    @Test func `each reason belongs to one step, and each step can fail`() {
        let reasons = VerificationStep.allCases.flatMap(\.reasons)
        #expect(reasons.count == VerificationReason.allCases.count)
        #expect(Set(reasons) == Set(VerificationReason.allCases))
        #expect(VerificationStep.allCases.allSatisfy { !$0.reasons.isEmpty && !$0.summary.isEmpty })
    }

    @Test(arguments: ReasonCase.form + ReasonCase.chain + ReasonCase.content)
    func `a rejection is one failed check, after passed and before unreached ones`(item: ReasonCase) throws {
        let attempt = try item.attempt(try TestStore.genuine.get())
        let verdict = Verifier(policy: attempt.policy).verifyNotification(Array(attempt.jws.utf8), receivedAt: attempt.receivedAt)
        let checks = VerificationTrace(verdict).parts.flatMap { part in part.checks.map { (part.location, $0) } }
        let index = try #require(checks.firstIndex { $0.1.result != .ok })
        let (location, check) = checks[index]
        guard case .failed(let reason, _) = check.result else {
            Issue.record("\(check) is not a failure")
            return
        }
        #expect((location, check.step, reason) == (item.location, item.reason.step, item.reason))
        #expect(checks[(index + 1)...].allSatisfy { $0.1.result == .notReached })
    }

    @Test func `a genuine notification passes every check of every part`() throws {
        let store = try TestStore.genuine.get()
        let jws = try store.sign(Payloads.full(store))
        let trace = VerificationTrace(Verifier(policy: try store.policy()).verifyNotification(Array(jws.utf8), receivedAt: TestStore.now))
        #expect(trace.parts.map(\.location) == ["signedPayload", "data.signedTransactionInfo", "data.signedRenewalInfo"])
        #expect(trace.parts.allSatisfy { $0.checks.allSatisfy { $0.result == .ok } })
        let steps = trace.parts.map { $0.checks.map(\.step) }
        #expect(steps[0] == VerificationStep.allCases.dropLast())
        #expect(steps[1] == VerificationStep.allCases.dropLast())
        #expect(steps[2] == VerificationStep.allCases.filter { $0 != .app })
    }

    @Test(arguments: [nil, .wrongEnvironment, .wrongBundle] as [VerificationReason?])
    func `a standalone transaction is checked against the request`(refusal: VerificationReason?) throws {
        let store = try TestStore.genuine.get()
        let verifier = Verifier(policy: try store.policy())
        let jws = try store.sign(Payloads.transaction)
        let trace = VerificationTrace(verifier.verifyTransaction(Array(jws.utf8), receivedAt: TestStore.now), refusal: refusal)
        #expect(trace.parts[0].checks.map(\.step) == VerificationStep.allCases.filter { $0 != .agreement && $0 != .contract })
        #expect(trace.parts[0].checks.allSatisfy { $0.result == .ok })
        let checks = trace.parts[1].checks
        #expect(checks.map(\.step) == [.environment, .app])
        switch refusal {
        case .wrongEnvironment: #expect(checks.map(\.result) == [.failed(.wrongEnvironment, detail: nil), .notReached])
        case .wrongBundle: #expect(checks.map(\.result) == [.ok, .failed(.wrongBundle, detail: nil)])
        default: #expect(checks.map(\.result) == [.ok, .ok])
        }
    }

    @Test func `the request is not checked when the transaction is forged`() throws {
        let store = try TestStore.genuine.get()
        let jws = try store.sign(Payloads.transaction).replacing(part: 2) { _ in try store.sign([:]).part(2) }
        let verdict = Verifier(policy: try store.policy()).verifyTransaction(Array(jws.utf8), receivedAt: TestStore.now)
        let trace = VerificationTrace(verdict, refusal: nil)
        #expect(trace.parts[1].checks.map(\.result) == [.notReached, .notReached])
    }

    /// The trace reports every step before the failed one as passed, so they must be checked first.
    @Test(arguments: VerificationStep.allCases.dropLast())
    func `when a step and all later ones are wrong, that step fails`(first: VerificationStep) throws {
        let wrong = Set(VerificationStep.allCases.drop { $0 != first })
        let (jws, policy) = try Self.jws(with: wrong)
        let verdict = Verifier(policy: policy).verifyNotification(Array(jws.utf8), receivedAt: TestStore.now)
        guard case .invalid(let rejection) = verdict else {
            Issue.record("valid")
            return
        }
        #expect(rejection.reason.step == first, "\(rejection)")
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
        if wrong.contains(.kind) { payload["version"] = 2 }
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
