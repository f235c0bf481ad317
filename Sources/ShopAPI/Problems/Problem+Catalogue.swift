import AppStore
import HTTPServing

/// The problems of this interface.
extension Problem {
    /// Status 401, the same whether no key was sent, or one that is unknown or revoked.
    static var unauthorized: Problem {
        var problem = Problem(401, "unauthorized", "Unauthorized", "Send Authorization: Bearer and a key that is in force.")
        problem.challenge = #"Bearer realm="appstore-inbox""#
        return problem
    }

    /// Status 403 for a key that is for other things.
    static func verbNotCovered(_ verb: Verb) -> Problem {
        var problem = Problem(403, "verb-not-covered", "Not covered by the key", "The key is not for this: it needs another verb.")
        problem.extensions = ["verb": .string(verb.rawValue)]
        return problem
    }

    /// Status 403 for a key of another environment.
    static let environmentNotCovered = Problem(
        403,
        "environment-not-covered",
        "Environment not covered by the key",
        "The key is not for this environment, which is Production unless the request names Sandbox. Orders are always made in Production."
    )
    /// Status 403 for a key of other apps.
    static let appNotCovered = Problem(
        403,
        "app-not-covered",
        "App not covered by the key",
        "The key is not for the app that the request is for."
    )

    /// Status 400 for a member that is missing or that cannot be what it is meant to be.
    static func invalidMember(_ name: String, _ expectation: String) -> Problem {
        var problem = Problem(400, "invalid-member", "Invalid member", expectation)
        problem.extensions = ["member": .string(name)]
        return problem
    }

    /// Status 400 for a member that means nothing: a misspelt one would be a silent default.
    static func unknownMember(known: [String]) -> Problem {
        Problem(400, "unknown-member", "Unknown member", "The object may have these members only: \(known.joined(separator: ", ")).")
    }

    /// Status 400 for a parameter of the query or the path that cannot be what it is meant to be.
    static func invalidParameter(_ name: String, _ expectation: String) -> Problem {
        var problem = Problem(400, "invalid-parameter", "Invalid parameter", expectation)
        problem.extensions = ["parameter": .string(name)]
        return problem
    }

    /// Status 400 for a parameter of the query that means nothing.
    static func unknownParameter(known: [String]) -> Problem {
        let names = known.isEmpty ? "none" : known.joined(separator: ", ")
        return Problem(400, "unknown-parameter", "Unknown parameter", "The query may have these parameters only: \(names).")
    }

    /// Status 404 for an event that is none, or not one that the key covers.
    static let noSuchEvent = Problem(404, "no-such-event", "No such event", "No event of a client that the key covers has this number.")
    /// Status 404 for a contract that is none, or not one that the key covers.
    static let noSuchContract = Problem(
        404,
        "no-such-contract",
        "No such contract",
        "No purchase that the key covers is known with this originalTransactionId in this environment."
    )
    /// Status 409 for an order number that other words were said with.
    static let orderConflict = Problem(
        409,
        "order-conflict",
        "Order exists with other words",
        "An order with this number was made for another user, product or app."
    )
    /// Status 409 for a purchase of somebody else; nothing more is said.
    static let ownerConflict = Problem(409, "owner-conflict", "Owned by another user", "The purchase belongs to another user.")

    /// Status 422 for a transaction that is not genuine, or not of this app and environment.
    static func transactionRejected(reason: String) -> Problem {
        var problem = Problem(
            422,
            "transaction-rejected",
            "Transaction rejected",
            "signedTransaction is not a transaction that Apple has signed for this app and environment."
        )
        problem.extensions = ["reason": .string(reason)]
        return problem
    }

    /// Status 422 for a receipt that is not genuine, or not of this app and environment.
    static func receiptRejected(reason: String) -> Problem {
        let detail =
            reason == "transaction_receipt"
            ? "receiptData is the receipt of a single transaction, as iOS 6 and earlier made them: send the app receipt."
            : "receiptData is not a receipt that Apple has signed for this app and environment."
        var problem = Problem(422, "receipt-rejected", "Receipt rejected", detail)
        problem.extensions = ["reason": .string(reason)]
        return problem
    }

    /// Status 500 for a fault of this program.
    static let internalError = Problem(500, "internal-error", "Internal error", "It is the server's fault, and in its log.")
}
