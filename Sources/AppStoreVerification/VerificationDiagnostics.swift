/// Records the checks of a verification at the moment they are made.
///
/// Verifiers take one or nil. Without one they record nothing, and may use results of earlier verifications, such as validated chains.
package final class VerificationDiagnostics {
    /// The checks of one signed part, or of the request that came with it.
    package struct Part: Hashable, Sendable {
        /// As in ``Rejection/location``.
        package let location: String
        /// In the order in which they were made.
        package fileprivate(set) var checks: [Check] = []
        /// The checks that this part must pass.
        fileprivate var required: [VerificationStep]

        /// The checks that were not made, because an earlier one failed.
        package var notReached: [VerificationStep] { required.filter { step in !checks.contains { $0.step == step } } }
    }

    /// One check that was made.
    package struct Check: Hashable, Sendable {
        package let step: VerificationStep
        /// Why it failed; nil when it passed.
        package let failure: Failure?
    }

    /// Why a check failed.
    package struct Failure: Hashable, Sendable {
        package let reason: VerificationReason
        package let detail: String?
    }

    /// In the order of verification; the parts that were not reached are left out.
    package private(set) var parts: [Part] = []

    package init() {}

    /// Begins a part. The following checks belong to it.
    package func begin(_ location: String, requiring steps: [VerificationStep]) {
        parts.append(Part(location: location, required: steps))
    }

    /// Replaces the checks that the current part must pass, when its kind is found.
    func require(_ steps: [VerificationStep]) {
        parts[parts.count - 1].required = steps
    }

    /// Records a check of the current part.
    package func record(_ step: VerificationStep, _ failure: VerificationReason?, detail: String? = nil) {
        let failure = failure.map { Failure(reason: $0, detail: detail) }
        parts[parts.count - 1].checks.append(Check(step: step, failure: failure))
    }

    /// A record of another attempt at the current part.
    func attempt() -> VerificationDiagnostics {
        let attempt = VerificationDiagnostics()
        attempt.begin("", requiring: [])
        return attempt
    }

    /// Adds the checks of the attempt that decided.
    func add(_ attempt: VerificationDiagnostics) {
        parts[parts.count - 1].checks += attempt.parts[0].checks
    }
}

extension VerificationDiagnostics? {
    /// Makes a check and records its result. Allocates nothing when there is no record.
    func check<Value>(_ step: VerificationStep, _ check: () throws(Flaw) -> Value) throws(Flaw) -> Value {
        do {
            let value = try check()
            self?.record(step, nil)
            return value
        } catch {
            self?.record(step, error.reason, detail: error.detail)
            throw error
        }
    }
}
