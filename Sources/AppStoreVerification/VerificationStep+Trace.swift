package import AppStore

/// A verdict as steps: the checks that each JWS passed, the one that failed, and those not reached.
package struct VerificationTrace: Hashable, Sendable {
    /// One JWS.
    package struct Part: Hashable, Sendable {
        /// As in ``Rejection/location``.
        package let location: String
        /// In execution order.
        package let checks: [Check]
    }

    /// One check of one JWS.
    package struct Check: Hashable, Sendable {
        package let step: VerificationStep
        /// What a passed check establishes.
        package let summary: String
        package let result: Result
    }

    /// The result of a check.
    package enum Result: Hashable, Sendable {
        case ok
        case failed(VerificationReason, detail: String?)
        case notReached
    }

    /// The outermost JWS, then the nested ones, in order of verification. The nested ones are known only if the outer signature is genuine.
    package private(set) var parts: [Part]

    package init(_ verdict: Verdict<VerifiedNotification>) {
        switch verdict {
        case .valid(let verified):
            self.init([(Verifier.outermost, .notification)] + Self.nested(in: verified.notification.value), rejection: nil)
        case .invalid(let rejection):
            let nested = rejection.notification.map(Self.nested) ?? []
            self.init([(Verifier.outermost, .notification)] + nested, rejection: rejection)
        }
    }

    /// The trace of a transaction that a client posted.
    ///
    /// - Parameter refusal: why the genuine transaction does not match the request, which is checked after the verdict.
    package init(_ verdict: Verdict<SignedValue<JWSTransactionDecodedPayload>>, refusal: VerificationReason?) {
        let rejection: Rejection? = if case .invalid(let rejection) = verdict { rejection } else { nil }
        self.init([(Verifier.outermost, .transaction)], rejection: rejection)
        var walk = Walk(failure: refusal.map { (Self.submission, $0, nil) }, hasFailed: rejection != nil)
        let checks: [(VerificationStep, String)] = [
            (.environment, "the transaction names the requested environment"),
            (.app, "the app is one that the API key is for"),
        ]
        parts.append(
            Part(
                location: Self.submission,
                checks: checks.map { Check(step: $0, summary: $1, result: walk.take($0, at: Self.submission)) }
            )
        )
    }

    /// The location of the client's request.
    private static let submission = "submission"

    private init(_ located: [(location: String, kind: SignedPayloadKind)], rejection: Rejection?) {
        var walk = Walk(failure: rejection.map { ($0.location, $0.reason, $0.detail) })
        parts = located.enumerated().map { index, part in
            let steps = VerificationStep.checks(of: part.kind, isNested: index > 0)
            return Part(
                location: part.location,
                checks: steps.map { Check(step: $0, summary: $0.summary, result: walk.take($0, at: part.location)) }
            )
        }
    }

    private static func nested(in notification: ResponseBodyV2DecodedPayload) -> [(location: String, kind: SignedPayloadKind)] {
        let members: [(String?, String, SignedPayloadKind)] = [
            (notification.data?.signedTransactionInfo, "data.signedTransactionInfo", .transaction),
            (notification.data?.signedRenewalInfo, "data.signedRenewalInfo", .renewalInfo),
            (notification.appData?.signedAppTransactionInfo, "appData.signedAppTransactionInfo", .appTransaction),
        ]
        return members.compactMap { jws, location, kind in jws.map { _ in (location, kind) } }
    }

    /// Assigns results to the checks, in order, up to the one that failed.
    private struct Walk {
        let failure: (location: String, reason: VerificationReason, detail: String?)?
        var hasFailed = false

        mutating func take(_ step: VerificationStep, at location: String) -> Result {
            if hasFailed { return .notReached }
            guard let failure, failure.location == location, failure.reason.step == step else { return .ok }
            hasFailed = true
            return .failed(failure.reason, detail: failure.detail)
        }
    }
}
