import AppStoreVerification
import StrictJSON

extension [VerificationDiagnostics.Part] {
    /// The checks of each part: those that passed, the one that failed, and those that were not reached.
    var json: JSONValue { .array(map(\.json)) }

    /// Whether the signature of that part is valid; it may be refused all the same.
    func isGenuine(_ location: String) -> Bool {
        contains { part in
            part.location == location && part.checks.contains { $0.step == .signature && $0.failure == nil }
        }
    }
}

extension VerificationDiagnostics.Part {
    fileprivate var json: JSONValue {
        let failed = checks.lazy.compactMap { check in check.failure.map { (check.step, $0) } }.first
        return [
            "location": .string(location), "passed": Self.json(checks.filter { $0.failure == nil }.map(\.step)),
            "failed": failed.map { step, failure in
                [
                    "step": .string(step.rawValue), "requires": .string(step.summary), "reason": .string(failure.reason.rawValue),
                    "detail": .optional(failure.detail),
                ]
            } ?? .null,
            "not_reached": Self.json(notReached),
        ]
    }

    private static func json(_ steps: [VerificationStep]) -> JSONValue { .array(steps.map { .string($0.rawValue) }) }
}
