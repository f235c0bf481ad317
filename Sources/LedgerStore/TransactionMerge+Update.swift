/// How a row of `transactions` takes in another one, in SQL: as ``TransactionRegister/join(_:)`` does. `t` is the row as it is, `excluded`
/// the register of the batch, whose plain columns hold what counts of its two halves (constants: the JWS half's first; state: the later
/// half's).
///
/// One statement for both halves: two sorted passes over one table would lock in two orders.
extension TransactionMerge {
    /// Constants that come with the newest fact of the half that they are read from.
    static let constants = [
        "original_transaction_id", "web_order_line_item_id", "bundle_id", "product_id", "purchase_date", "original_purchase_date",
        "quantity", "offer_type", "offer_identifier", "offer_discount_type", "offer_period", "storefront", "storefront_id",
        "transaction_reason", "currency", "price", "app_transaction_id", "billing_plan_type", "period_no",
    ]
    /// Constants that only some forms of a receipt have.
    static let gathered = ["product_type", "in_app_ownership_type", "subscription_group_identifier"]
    /// What changes in a charge's life.
    static let state = [
        "expires_date", "revocation_date", "revocation_reason", "is_upgraded",
    ]
    /// The version of the JWS half, and what only that half knows: a receipt that tells of a refund says nothing of how much of it.
    static let signedHalf = ["revocation_type", "revocation_percentage", "signed_date", "payload_hash"]
    static let receiptHalf = [
        "receipt_date", "receipt_hash", "receipt_expires_date", "receipt_revocation_date", "receipt_revocation_reason",
        "receipt_is_upgraded",
    ]
    static let firstToken = ["first_token", "first_token_signed_date", "first_token_hash"]

    static let isNewerJWS = """
        (excluded.signed_date IS NOT NULL AND (t.signed_date IS NULL
            OR (excluded.signed_date, excluded.payload_hash) > (t.signed_date, t.payload_hash)))
        """
    static let isNewerReceipt = """
        (excluded.receipt_date IS NOT NULL AND (t.receipt_date IS NULL
            OR (excluded.receipt_date, excluded.receipt_hash) > (t.receipt_date, t.receipt_hash)))
        """
    /// Whether the batch's register says what the state is. `greatest` passes nulls over.
    static let isNewerState = """
        ((\(isNewerJWS) AND coalesce(excluded.signed_date >= greatest(t.receipt_date, excluded.receipt_date), true))
         OR (\(isNewerReceipt) AND coalesce(excluded.receipt_date > greatest(t.signed_date, excluded.signed_date), true)))
        """
    static let isFirstToken = """
        (excluded.first_token IS NOT NULL AND (t.first_token IS NULL
            OR (excluded.first_token_signed_date, excluded.first_token_hash) < (t.first_token_signed_date, t.first_token_hash)))
        """
    /// Constants are the receipt half's only as long as there is no JWS half.
    private static let takesConstants = "(\(isNewerJWS) OR (t.signed_date IS NULL AND \(isNewerReceipt)))"
    private static let gathers = "t.signed_date IS NULL AND excluded.signed_date IS NULL"

    private static func greatest(_ column: String) -> String {
        "greatest(t.\(column) COLLATE \"C\", excluded.\(column) COLLATE \"C\")"
    }

    private static func take(_ column: String, when condition: String) -> String {
        "\(column) = CASE WHEN \(condition) THEN excluded.\(column) ELSE t.\(column) END"
    }

    /// Of a charge that no JWS tells of, the token is the first one and the kind of charge follows its type. A contract that is left is kept
    /// in mind.
    private static let followed = [
        """
        app_account_token = CASE WHEN \(isNewerJWS) THEN excluded.app_account_token WHEN \(gathers) AND \(isFirstToken)
                                 THEN excluded.first_token ELSE t.app_account_token END
        """,
        """
        left_contract = CASE WHEN \(takesConstants) AND excluded.original_transaction_id <> t.original_transaction_id
                             THEN t.original_transaction_id ELSE t.left_contract END
        """,
        """
        is_subscription = CASE WHEN \(isNewerJWS) THEN excluded.is_subscription
                               WHEN \(gathers) THEN t.is_subscription OR excluded.is_subscription ELSE t.is_subscription END
        """,
    ]

    static let update =
        (constants.map { take($0, when: takesConstants) }
        + gathered.map { "\($0) = CASE WHEN \(isNewerJWS) THEN excluded.\($0) WHEN \(gathers) THEN \(greatest($0)) ELSE t.\($0) END" }
        + state.map { take($0, when: isNewerState) }
        + followed
        + signedHalf.map { take($0, when: isNewerJWS) }
        + receiptHalf.map { take($0, when: isNewerReceipt) }
        + ["first_signed_date = least(t.first_signed_date, excluded.first_signed_date)"]
        + firstToken.map { take($0, when: isFirstToken) })
        .joined(separator: ", ")

    /// Whether anything of a row changes.
    static let moves = """
        \(isNewerJWS) OR \(isNewerReceipt) OR excluded.first_signed_date < t.first_signed_date OR \(isFirstToken)
        OR (\(gathers) AND excluded.is_subscription AND NOT t.is_subscription)
        OR (\(gathers) AND (\(gathered.map { "t." + $0 }.joined(separator: ", ")))
                           IS DISTINCT FROM (\(gathered.map { greatest($0) }.joined(separator: ", "))))
        """
}
