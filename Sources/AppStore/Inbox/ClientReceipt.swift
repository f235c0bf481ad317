import StrictJSON

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
