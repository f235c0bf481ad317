package import Postgres

/// The statements of the HTTP API and of its keys; each file documents its statement.
extension StatementFile {
    package static let shopReadKey = StatementFile(name: "shop_read_key", bytes: EmbeddedFiles.shop_read_key_sql)
    package static let shopCreateOrder = StatementFile(name: "shop_create_order", bytes: EmbeddedFiles.shop_create_order_sql)
    package static let shopReadOrder = StatementFile(name: "shop_read_order", bytes: EmbeddedFiles.shop_read_order_sql)
    package static let shopReadOrders = StatementFile(name: "shop_read_orders", bytes: EmbeddedFiles.shop_read_orders_sql)
    package static let shopSubmitTransaction = StatementFile(
        name: "shop_submit_transaction",
        bytes: EmbeddedFiles.shop_submit_transaction_sql
    )
    package static let shopSubmitReceipt = StatementFile(name: "shop_submit_receipt", bytes: EmbeddedFiles.shop_submit_receipt_sql)
    package static let shopReadReceiptCharges = StatementFile(
        name: "shop_read_receipt_charges",
        bytes: EmbeddedFiles.shop_read_receipt_charges_sql
    )
    package static let shopReadReceiptQuestion = StatementFile(
        name: "shop_read_receipt_question",
        bytes: EmbeddedFiles.shop_read_receipt_question_sql
    )
    package static let shopReadEvent = StatementFile(name: "shop_read_event", bytes: EmbeddedFiles.shop_read_event_sql)
    package static let shopReadEntitlements = StatementFile(
        name: "shop_read_entitlements",
        bytes: EmbeddedFiles.shop_read_entitlements_sql
    )
    package static let shopReadSubscription = StatementFile(
        name: "shop_read_subscription",
        bytes: EmbeddedFiles.shop_read_subscription_sql
    )
    package static let shopLinkOwner = StatementFile(name: "shop_link_owner", bytes: EmbeddedFiles.shop_link_owner_sql)
    package static let shopReadFeed = StatementFile(name: "shop_read_feed", bytes: EmbeddedFiles.shop_read_feed_sql)
    package static let shopReadFeedEntry = StatementFile(name: "shop_read_feed_entry", bytes: EmbeddedFiles.shop_read_feed_entry_sql)
    package static let shopReadFeedEnd = StatementFile(name: "shop_read_feed_end", bytes: EmbeddedFiles.shop_read_feed_end_sql)
    package static let shopReadConsumer = StatementFile(name: "shop_read_consumer", bytes: EmbeddedFiles.shop_read_consumer_sql)
    package static let shopSetConsumer = StatementFile(name: "shop_set_consumer", bytes: EmbeddedFiles.shop_set_consumer_sql)
    package static let shopRemoveConsumer = StatementFile(name: "shop_remove_consumer", bytes: EmbeddedFiles.shop_remove_consumer_sql)
    package static let shopMakeKey = StatementFile(name: "shop_make_key", bytes: EmbeddedFiles.shop_make_key_sql)
    package static let shopListKeys = StatementFile(name: "shop_list_keys", bytes: EmbeddedFiles.shop_list_keys_sql)
    package static let shopRevokeKey = StatementFile(name: "shop_revoke_key", bytes: EmbeddedFiles.shop_revoke_key_sql)

    /// All of this file.
    package static let shop = [
        shopReadKey, shopCreateOrder, shopReadOrder, shopReadOrders, shopSubmitTransaction, shopSubmitReceipt, shopReadReceiptCharges,
        shopReadReceiptQuestion, shopReadEvent, shopReadEntitlements, shopReadSubscription, shopLinkOwner, shopMakeKey, shopListKeys,
        shopRevokeKey, shopReadFeed, shopReadFeedEntry, shopReadFeedEnd, shopReadConsumer, shopSetConsumer, shopRemoveConsumer,
    ]
}
