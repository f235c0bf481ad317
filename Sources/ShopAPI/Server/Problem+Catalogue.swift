import HTTPServing
import StrictJSON

/// The problems of the shop API.
extension Problem {
    /// Status 401 for a missing, unknown, revoked or expired key.
    static var unauthorized: Problem {
        var problem = Problem(401, "unauthorized", "Unauthorized", "Send Authorization: Bearer and a valid key.")
        problem.challenge = #"Bearer realm="appstore-inbox""#
        return problem
    }

    /// Status 403 for a key without the needed verb.
    static func verbNotCovered(_ verb: Verb) -> Problem {
        Problem(
            403,
            "verb-not-covered",
            "Not covered by the key",
            "The key does not cover this operation.",
            extensions: ["verb": .string(verb.rawValue)]
        )
    }

    /// Status 403 for a key that does not cover the environment.
    static let environmentNotCovered = Problem(
        403,
        "environment-not-covered",
        "Environment not covered by the key",
        "The key does not cover this environment. It is Production unless the request names Sandbox; orders are always made in Production."
    )
    /// Status 403 for a key that does not cover the app.
    static let appNotCovered = Problem(
        403,
        "app-not-covered",
        "App not covered by the key",
        "The key does not cover the app of this request."
    )

    /// Status 400 for a missing or invalid member.
    static func invalidMember(_ name: String, _ expectation: String) -> Problem {
        Problem(400, "invalid-member", "Invalid member", expectation, extensions: ["member": .string(name)])
    }

    /// Status 400 for an unknown member. If it were ignored, a misspelt name would silently select the default.
    static func unknownMember(known: [String]) -> Problem {
        Problem(400, "unknown-member", "Unknown member", "The object may have these members only: \(known.joined(separator: ", ")).")
    }

    /// Status 400 for an invalid parameter of the query or the path.
    static func invalidParameter(_ name: String, _ expectation: String) -> Problem {
        Problem(400, "invalid-parameter", "Invalid parameter", expectation, extensions: ["parameter": .string(name)])
    }

    /// Status 400 for an unknown parameter of the query.
    static func unknownParameter(known: [String]) -> Problem {
        let names = known.isEmpty ? "none" : known.joined(separator: ", ")
        return Problem(400, "unknown-parameter", "Unknown parameter", "The query may have these parameters only: \(names).")
    }

    /// Status 404 for an event that does not exist or that the key does not cover.
    static let noSuchEvent = Problem(404, "no-such-event", "No such event", "No posted event with this number is covered by the key.")
    /// Status 404 for an order that does not exist or that the key does not cover.
    static let noSuchOrder = Problem(
        404,
        "no-such-order",
        "No such order",
        "No order with this number in this environment is covered by the key."
    )
    /// Status 404 for a contract that does not exist or that the key does not cover.
    static let noSuchContract = Problem(
        404,
        "no-such-contract",
        "No such contract",
        "No known purchase with this originalTransactionId in this environment is covered by the key."
    )
    /// Status 409 for an order number that is used by a different order.
    static let orderConflict = Problem(
        409,
        "order-conflict",
        "Order number in use",
        "An order with this number exists for another user, product or app."
    )
    /// Status 409 for a purchase of another user. It discloses nothing else.
    static let ownerConflict = Problem(
        409,
        "owner-conflict",
        "Owned by another user",
        """
        The purchase belongs to another user: by its token, a link, or an earlier post. To move it, use PUT \
        /v1/contracts/{originalTransactionId}/owner or appstore.link_owner.
        """
    )
    /// Status 409 for an order number that means a user.
    static let orderNumberIsToken = Problem(
        409,
        "order-conflict",
        "Order number in use",
        "The number is the token of a user, whose purchases need no order. Without orderNo, the order gets a new number."
    )
    /// Status 409 for a token that is the number of an order.
    static let tokenIsOrder = Problem(
        409,
        "token-in-use",
        "Token in use",
        "The token is the number of an order. Give the user another one.",
        extensions: ["means": "order"]
    )
    /// Status 409 for a token of another user. It discloses nothing else.
    static let tokenOfAnother = Problem(
        409,
        "token-in-use",
        "Token in use",
        "The token means another user. Give each user a token of their own.",
        extensions: ["means": "user"]
    )

    private static let otherEnvironment =
        "App Review, TestFlight and Sandbox accounts buy in Sandbox: post it again with environment= as the purchase says."

    /// Status 422 for a transaction that is not genuine, or not for this app and environment.
    ///
    /// - Parameter member: the member of the request that has it.
    static func transactionRejected(reason: String, of member: String = "signedTransaction") -> Problem {
        let detail =
            switch reason {
            case "x5c_count":
                """
                \(member) does not have the three certificates of what the App Store signs. Xcode's local testing (StoreKit testing) \
                signs with one: test on a device with a Sandbox account.
                """
            case "wrong_environment": "\(member) is of another environment. \(otherEnvironment)"
            default: "\(member) is not what Apple has signed for this app and environment."
            }
        return Problem(422, "transaction-rejected", "Transaction rejected", detail, extensions: ["reason": .string(reason)])
    }

    /// Status 422 for a receipt that is not genuine, or not for this app and environment.
    static func receiptRejected(reason: String) -> Problem {
        let detail =
            switch reason {
            case "transaction_receipt":
                "receiptData is the receipt of a single transaction, as iOS 6 and earlier made them: send the app receipt."
            case "untrusted_root":
                """
                receiptData is not signed by the App Store. Xcode's local testing (StoreKit testing) signs with a certificate of its own: test \
                on a device with a Sandbox account.
                """
            case "wrong_environment": "receiptData is of another environment. \(otherEnvironment)"
            default: "receiptData is not a receipt that Apple has signed for this app and environment."
            }
        return Problem(422, "receipt-rejected", "Receipt rejected", detail, extensions: ["reason": .string(reason)])
    }

    /// Status 404 for a transaction about which Apple has not asked, or that the key does not cover.
    static let noSuchConsumption = Problem(
        404,
        "no-such-consumption-request",
        "No such consumption request",
        "Apple has not asked about a transaction with this id in this environment that is covered by the key."
    )
    /// Status 404 for a user without a consent in force.
    static let noSuchConsent = Problem(404, "no-such-consent", "No such consent", "No consent of this user is in force.")

    /// The problem for what `appstore.decide_consumption` refuses: 404 where Apple has not asked, 409 for the state of the request, and 422
    /// for a rule that the answer breaks.
    static func consumption(refusedFor refusal: String, _ message: String) -> Problem {
        guard refusal != "not_asked" else { return .noSuchConsumption }
        let isState = ["apple_decided", "answered", "past_due", "policy_off"].contains(refusal)
        let rule: JSONObject = ["rule": .string(refusal)]
        return isState
            ? Problem(409, "consumption-closed", "Nothing can be answered", message + ".", extensions: rule)
            : Problem(422, "consumption-refused", "Answer against a rule", message + ".", extensions: rule)
    }

    /// Status 404 for a call to Apple that does not exist, has aged, or that the key does not cover.
    static let noSuchInquiry = Problem(
        404,
        "no-such-inquiry",
        "No such inquiry",
        "No question to Apple with this number is covered by the key. They are kept for 30 days."
    )

    /// The problem for what `appstore.request_apple` refuses: 409 while an open call asks otherwise, and 422 for an argument.
    static func inquiry(refusedFor refusal: String, _ message: String) -> Problem {
        refusal == "in_use"
            ? Problem(409, "inquiry-open", "Asked otherwise", message + ".")
            : Problem(422, "inquiry-refused", "Cannot be asked", message + ".")
    }

    /// Status 404 for a position without an entry that the key covers.
    static let noSuchEntry = Problem(404, "no-such-entry", "No such entry", "The key covers no entry of the feed with this position.")
    /// Status 404 for an unknown consumer of the feed.
    static let noSuchConsumer = Problem(
        404,
        "no-such-consumer",
        "No such consumer",
        "Make it first: PUT /v1/feed/consumers/{name} with a cursor."
    )
    /// Status 503 while waiting requests have their half of the listener's connections.
    static let tooManyWaiting = Problem(
        503,
        "too-many-waiting",
        "Busy",
        "Too many requests wait for the feed. Try again, or ask without wait.",
        retryAfter: 1
    )
    /// Status 409 while the feed is off.
    static let feedOff = Problem(
        409,
        "feed-off",
        "The feed is off",
        "Nothing is told until an operator turns the feed on: SELECT appstore.enable_feed()."
    )

    /// Status 409 for a cursor after which positions mean something else.
    ///
    /// - Parameter next: a cursor before anything that may have changed.
    static func historyChanged(next: FeedCursor) -> Problem {
        Problem(
            409,
            "history-changed",
            "History has changed",
            "A failover or restore gave positions up to this cursor to other entries. Go on from next, and skip each id that you have seen.",
            extensions: ["next": .string(next.description)]
        )
    }

    /// Status 409 for a position of the feed that the primary does not know.
    static let positionUnknown = Problem(
        409,
        "position-unknown",
        "Position unknown",
        "The feed does not reach at_least, or is off. Name a cursor that the feed, a webhook or an earlier answer has given."
    )

    /// Status 410 for a cursor whose next entries have aged.
    ///
    /// - Parameter next: the oldest cursor.
    static func cursorExpired(next: FeedCursor) -> Problem {
        Problem(
            410,
            "cursor-expired",
            "Cursor expired",
            """
            Entries after this cursor have aged. Read the state of your users, GET /v1/users/{user}/entitlements or the view \
            appstore.entitlements, then go on from next.
            """,
            extensions: ["next": .string(next.description)]
        )
    }

    /// Status 500 for an error of the server.
    static let internalError = Problem(500, "internal-error", "Internal error", "The server failed. Its log has the error.")
}
