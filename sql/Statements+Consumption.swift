package import Postgres

/// The statements about consumption requests; each file documents its statement.
extension StatementFile {
    package static let consumptionDecide = StatementFile(name: "consumption_decide", bytes: EmbeddedFiles.consumption_decide_sql)
    package static let consumptionList = StatementFile(name: "consumption_list", bytes: EmbeddedFiles.consumption_list_sql)
    package static let consumptionReadStatistics = StatementFile(
        name: "consumption_read_statistics",
        bytes: EmbeddedFiles.consumption_read_statistics_sql
    )
    package static let maintenanceAnswerConsumption = StatementFile(
        name: "maintenance_answer_consumption",
        bytes: EmbeddedFiles.maintenance_answer_consumption_sql
    )
    package static let shopReadConsumption = StatementFile(name: "shop_read_consumption", bytes: EmbeddedFiles.shop_read_consumption_sql)
    package static let shopAnswerConsumption = StatementFile(
        name: "shop_answer_consumption",
        bytes: EmbeddedFiles.shop_answer_consumption_sql
    )
    package static let shopGiveConsent = StatementFile(name: "shop_give_consent", bytes: EmbeddedFiles.shop_give_consent_sql)
    package static let shopWithdrawConsent = StatementFile(name: "shop_withdraw_consent", bytes: EmbeddedFiles.shop_withdraw_consent_sql)

    /// All of this file.
    package static let consumption = [
        consumptionDecide, consumptionList, consumptionReadStatistics, maintenanceAnswerConsumption, shopReadConsumption,
        shopAnswerConsumption, shopGiveConsent, shopWithdrawConsent,
    ]
}
