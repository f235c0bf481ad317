import Postgres

/// Renewal info and status in the register.
struct Renewal {
    var contract = "1000"
    var environment = "Production"
    var status: Int32
    var signedDay: Double
    var willRenew: Bool? = true
    var graceEndDay: Double?
    var product = "pro.monthly"

    init(_ status: Int32, signedDay: Double, willRenew: Bool? = true, graceEndDay: Double? = nil) {
        (self.status, self.signedDay, self.willRenew, self.graceEndDay) = (status, signedDay, willRenew, graceEndDay)
    }

    var statement: Statement {
        let autoRenewStatus: Int32? = willRenew.map { $0 ? 1 : 0 }
        return """
            INSERT INTO appstore.contracts (environment, original_transaction_id, renewal_status, renewal_product_id, auto_renew_status,
                                            grace_period_expires_date, renewal_signed_date, renewal_hash)
            VALUES (\(environment)::appstore.environment, \(contract), \(status), \(product), \(autoRenewStatus), \(timestamp(graceEndDay)),
                    \(timestamp(signedDay)), \([UInt8](arrayLiteral: 1)))
            ON CONFLICT (environment, original_transaction_id) DO UPDATE
            SET renewal_status = excluded.renewal_status, renewal_product_id = excluded.renewal_product_id,
                auto_renew_status = excluded.auto_renew_status, renewal_signed_date = excluded.renewal_signed_date,
                renewal_hash = excluded.renewal_hash,
                grace_period_expires_date = excluded.grace_period_expires_date
            """
    }
}
