package import AppStore

/// The result of verifying a JWS: a value, never a thrown error.
package enum Verdict<Value: Sendable>: Sendable {
    /// Genuine, with a configured app and environment.
    case valid(Value)
    case invalid(Rejection)

    init(_ verify: () throws(Rejection) -> Value) {
        do {
            self = .valid(try verify())
        } catch {
            self = .invalid(error)
        }
    }
}

/// Why a notification or JWS is refused, and which JWS failed.
package struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: VerificationReason
    /// The JWS that failed: `signedPayload` for the outermost one, otherwise its member, `data.signedTransactionInfo`.
    package let location: String
    /// Details for an operator, such as `x5c[1]` or `data.status is not an integer`; never a value from the payload.
    package let detail: String?
    /// The refused notification if its own signature is genuine, so that an operator can see its app.
    package let notification: ResponseBodyV2DecodedPayload?
    /// The refused transaction, if it is standalone and its signature is genuine.
    package let transaction: JWSTransactionDecodedPayload?

    /// Whether the same bytes may be valid later: only for a signing date in the future.
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

/// Why one JWS is refused, without its location.
struct Flaw: Error {
    var reason: VerificationReason
    var detail: String?

    init(_ reason: VerificationReason, _ detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }
}
