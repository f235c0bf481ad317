package import AppStore

/// What verification says about a JWS: a value, never a thrown error.
package enum Verdict<Value: Sendable>: Sendable {
    /// Genuine, and about a configured app and environment.
    case valid(Value)
    /// To be refused.
    case invalid(Rejection)

    init(_ verify: () throws(Rejection) -> Value) {
        do {
            self = .valid(try verify())
        } catch {
            self = .invalid(error)
        }
    }
}

/// Why a JWS is refused, and which one.
package struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: VerificationReason
    /// Which JWS it failed on: `signedPayload` for the one that was handed over, else the member that holds it,
    /// `data.signedTransactionInfo`.
    package let location: String
    /// More about it for a person, such as `x5c[1]` or `data.status is not an integer`; never a value from the payload.
    package let detail: String?
    /// The notification that was refused, only when its own signature was genuine: what an operator wants to see of a wrong app.
    package let notification: ResponseBodyV2DecodedPayload?
    /// The same of a transaction that was handed over by itself.
    package let transaction: JWSTransactionDecodedPayload?

    /// Whether the same bytes may be valid later: only when they are signed in what is the future by our clock.
    package var isRetryable: Bool { reason == .signedInTheFuture }

    package var description: String {
        "\(location): \(reason)\(detail.map { " (\($0))" } ?? "")"
    }

    init(_ flaw: Flaw, at location: String, in genuine: (any SignedContent)? = nil) {
        reason = flaw.reason
        detail = flaw.detail
        self.location = location
        notification = genuine as? ResponseBodyV2DecodedPayload
        transaction = genuine as? JWSTransactionDecodedPayload
    }
}

/// What is wrong with one JWS, before it is known which one it is.
struct Flaw: Error {
    var reason: VerificationReason
    var detail: String?

    init(_ reason: VerificationReason, _ detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }
}
