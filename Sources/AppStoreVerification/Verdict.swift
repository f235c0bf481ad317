package import AppStore

/// The result of verifying a JWS or receipt: a value, never a thrown error.
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

/// Why a JWS or receipt is refused, and which part failed.
package struct Rejection: Error, Hashable, Sendable, CustomStringConvertible {
    /// The first check that failed.
    package let reason: VerificationReason
    /// The JWS that failed, `signedPayload` for the outermost one, otherwise its member, `data.signedTransactionInfo`; or `receipt`.
    package let location: String
    /// Details for an operator, such as `x5c[1]`, `data.status is not an integer` or a byte offset; never a value from the content.
    package let detail: String?
    /// The refused notification if its own signature is genuine, so that an operator can see its app.
    package let notification: ResponseBodyV2DecodedPayload?
    /// The refused transaction, if it is standalone and its signature is genuine.
    package let transaction: JWSTransactionDecodedPayload?
    /// The refused receipt, if its signature is genuine.
    package let receipt: AppReceipt?

    /// Whether the same bytes may be valid later: only for a signing date in the future.
    package var isRetryable: Bool { reason == .signedInTheFuture }

    package var description: String {
        "\(location): \(reason)\(detail.map { " (\($0))" } ?? "")"
    }

    init(_ flaw: Flaw, at location: String, in genuine: (any Sendable)? = nil) {
        reason = flaw.reason
        detail = flaw.detail
        self.location = location
        notification = genuine as? ResponseBodyV2DecodedPayload
        transaction = genuine as? JWSTransactionDecodedPayload
        receipt = genuine as? AppReceipt
    }
}

/// Why one JWS or receipt is refused, without its location.
struct Flaw: Error {
    var reason: VerificationReason
    var detail: String?

    init(_ reason: VerificationReason, _ detail: String? = nil) {
        self.reason = reason
        self.detail = detail
    }
}
