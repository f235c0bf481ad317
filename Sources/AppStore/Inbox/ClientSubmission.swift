import StrictJSON

/// What a client posts: a transaction after a purchase, or the transaction of the app's download, as StoreKit signed it, and optionally the user
/// who claims it.
///
/// The body of an inbox event of source `client_transaction` or `client_app_transaction`; written by the shop's API, read by the worker. Nothing
/// in it is verified. User, environment and bundles come from a caller with a valid key.
package struct ClientSubmission: Hashable, Sendable {
    /// What is signed. The raw value is the member of the body.
    package enum Kind: String, Sendable {
        case transaction = "signedTransaction"
        case appTransaction = "signedAppTransaction"
    }

    package let kind: Kind
    /// A compact JWS.
    package let signedTransaction: String
    /// The user who claims the purchase, 1 to 255 characters; nil when no user does.
    package let user: String?
    /// The requested environment; a transaction of another one is refused.
    package let environment: AppStoreEnvironment
    /// The scope of the key that it was posted with; nil is any app.
    package let bundleIDs: [String]?

    /// Throws when a part is malformed.
    package init(
        _ kind: Kind = .transaction,
        signedTransaction: String,
        user: String?,
        environment: AppStoreEnvironment,
        bundleIDs: [String]?
    ) throws(Malformed) {
        guard CompactJWS.hasShape(signedTransaction) else { throw .notACompactJWS }
        guard user?.isName ?? true else { throw .user }
        self.kind = kind
        self.signedTransaction = signedTransaction
        self.user = user
        self.environment = environment
        self.bundleIDs = bundleIDs
    }
}

extension ClientSubmission {
    /// Why a body or its parts are malformed; the raw value is the code that is stored and shown.
    package enum Malformed: String, Error, CaseIterable, Sendable {
        /// No JSON object.
        case notAnObject = "not_a_json_object"
        /// No member `signedTransaction`, or `signedAppTransaction`, or one that is no string.
        case noSignedTransaction = "no_signed_transaction"
        /// It is not three non-empty parts in the base64url alphabet.
        case notACompactJWS = "not_a_compact_jws"
        /// `user` is no string of 1 to 255 characters, or has U+0000 in it.
        case user = "malformed_user"
        /// No member `environment`, or one that is no string.
        case environment = "malformed_environment"
        /// `bundleIds` is no array of strings.
        case bundleIDs = "malformed_bundle_ids"
    }

    /// Reads what ``body`` wrote; other members are ignored.
    package init(_ kind: Kind = .transaction, body: [UInt8]) throws(Malformed) {
        let object = try JSONObject(body: body, or: Malformed.notAnObject)
        let jws = try object.required(kind.rawValue, or: Malformed.noSignedTransaction)
        let environment = try object.required("environment", or: Malformed.environment)
        try self.init(
            kind,
            signedTransaction: jws,
            user: try object.text("user", or: Malformed.user),
            environment: AppStoreEnvironment(rawValue: environment),
            bundleIDs: try object.texts("bundleIds", or: Malformed.bundleIDs)
        )
    }

    /// The submission as JSON; equal submissions have equal bytes.
    package var body: [UInt8] {
        var object = JSONObject()
        object[kind.rawValue] = .string(signedTransaction)
        object["user"] = user.map(JSONValue.string)
        object["environment"] = .string(environment.rawValue)
        object["bundleIds"] = bundleIDs.map { .array($0.map(JSONValue.string)) }
        return JSONSerializer.serialize(object)
    }
}

/// What a StoreKit 1 app posts: its receipt, the user who claims it and, after a purchase, the transaction that was just made.
///
/// The body of an inbox event of source `client_receipt`; written by the shop's API, read by the worker. Nothing in it is verified. User,
/// environment and bundles come from a caller with a valid key.
package struct ClientReceipt: Hashable, Sendable {
    /// An app receipt in base64, not checked yet.
    package let receiptData: String
    /// The user who claims the purchases, 1 to 255 characters.
    package let user: String
    /// The purchase just made, 1 to 255 characters; nil when there was none, for instance when purchases are restored.
    package let transactionID: String?
    /// The requested environment; a receipt of another one is refused.
    package let environment: AppStoreEnvironment
    /// The scope of the key that it was posted with; nil is any app.
    package let bundleIDs: [String]?

    /// Throws when a part is malformed.
    package init(
        receiptData: String,
        user: String,
        transactionID: String?,
        environment: AppStoreEnvironment,
        bundleIDs: [String]?
    ) throws(Malformed) {
        guard !receiptData.isEmpty, !receiptData.hasNUL else { throw .noReceiptData }
        guard user.isName else { throw .user }
        guard transactionID?.isName ?? true else { throw .transactionID }
        self.receiptData = receiptData
        self.user = user
        self.transactionID = transactionID
        self.environment = environment
        self.bundleIDs = bundleIDs
    }
}

extension ClientReceipt {
    /// Why a body or its parts are malformed; the raw value is the code that is stored and shown.
    package enum Malformed: String, Error, CaseIterable, Sendable {
        /// No JSON object.
        case notAnObject = "not_a_json_object"
        /// No member `receiptData`, or one that is no string, or empty, or has U+0000 in it.
        case noReceiptData = "no_receipt_data"
        /// No member `user`, or one that is no string of 1 to 255 characters, or has U+0000 in it.
        case user = "malformed_user"
        /// `transactionId` is no string of 1 to 255 characters, or has U+0000 in it.
        case transactionID = "malformed_transaction_id"
        /// No member `environment`, or one that is no string.
        case environment = "malformed_environment"
        /// `bundleIds` is no array of strings.
        case bundleIDs = "malformed_bundle_ids"
    }

    /// Reads what ``body`` wrote; other members are ignored.
    package init(body: [UInt8]) throws(Malformed) {
        let object = try JSONObject(body: body, or: Malformed.notAnObject)
        try self.init(
            receiptData: try object.required("receiptData", or: Malformed.noReceiptData),
            user: try object.required("user", or: Malformed.user),
            transactionID: try object.text("transactionId", or: Malformed.transactionID),
            environment: AppStoreEnvironment(rawValue: try object.required("environment", or: Malformed.environment)),
            bundleIDs: try object.texts("bundleIds", or: Malformed.bundleIDs)
        )
    }

    /// The post as JSON; equal posts have equal bytes.
    package var body: [UInt8] {
        var object: JSONObject = ["receiptData": .string(receiptData), "user": .string(user)]
        object["transactionId"] = transactionID.map(JSONValue.string)
        object["environment"] = .string(environment.rawValue)
        object["bundleIds"] = bundleIDs.map { .array($0.map(JSONValue.string)) }
        return JSONSerializer.serialize(object)
    }
}

/// The receipt in an event's body, as sent to Apple's verifyReceipt.
package enum PostedReceipt {
    /// The receipt in base64 and without white space, of a body of source `client_receipt` or `notification_v1`; nil when there is none.
    package static func data(inEventBody body: [UInt8]) -> String? {
        let text: String?
        do {
            let json = try JSONParser().parseObject(body)
            if case .string(let posted)? = json["receiptData"] { text = posted } else { text = ResponseBodyV1(decoding: json).receiptData }
        } catch {
            return nil
        }
        let data = text.map { String(decoding: $0.utf8.filter { !(0x09...0x0d).contains($0) && $0 != 0x20 }, as: UTF8.self) }
        return data.flatMap { $0.isEmpty ? nil : $0 }
    }
}

/// A receipt that is used as it is, because Apple's answer about it is missing or unusable.
///
/// The body of an inbox event of source `unanswered_receipt`. `appstore.fall_back` makes it from a genuine post, whose user is already
/// recorded.
package struct UnansweredReceipt: Hashable, Sendable {
    /// In base64.
    package let receiptData: String

    /// Why a body is malformed; the raw value is the code that is stored and shown.
    package enum Malformed: String, Error, CaseIterable, Sendable {
        /// No JSON object.
        case notAnObject = "not_a_json_object"
        /// No member `receiptData`, or one that is no string, or empty.
        case noReceiptData = "no_receipt_data"
    }

    package init(body: [UInt8]) throws(Malformed) {
        let object = try JSONObject(body: body, or: Malformed.notAnObject)
        guard case .string(let data)? = object["receiptData"], !data.isEmpty else { throw .noReceiptData }
        receiptData = data
    }
}
