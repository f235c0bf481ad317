import AppStore
import Ledger
import StoreSimulator

extension LifeReceipt {
    /// The entries of a signed receipt; none unless it is genuine.
    var entries: [ReceiptEntry] { isGenuine ? receipt.purchases.map { ReceiptEntry($0, form: .signedReceipt) } : [] }
}

extension [ReceiptEntry] {
    /// The assertions of one receipt's entries.
    ///
    /// - Parameter others: unsigned entries beside the receipt, which only decide whether a cancellation in it is an upgrade.
    func assertions(of app: SimulatedApp, statedAt: Timestamp, classifiedBy others: [ReceiptEntry] = []) -> [Assertion] {
        map { entry in
            let same = entry.cancellationDate == nil ? [] : others.filter { $0.cancellation == entry.cancellation }
            let isUpgraded = (same + [entry]).contains(where: \.isMarkedUpgraded) || entry.isReplaced(by: self)
            var assertion = entry.assertion(of: app, statedAt: statedAt, isUpgraded: isUpgraded)
            assertion.isShared = (same + [entry]).contains(where: \.isShared)
            return assertion
        }
    }
}

extension ReceiptEntry {
    /// The charge and the second of its cancellation.
    var cancellation: [String] { [id, cancellationDate.map { "\($0.inWholeSeconds.millisecondsSince1970)" } ?? ""] }
}

extension LegacyNotification {
    /// Charges come from the receipt alone. If the body names its app, the unsigned entries decide whether a cancellation is an upgrade.
    var receiptAssertions: [Assertion] {
        receipt.entries.assertions(of: app, statedAt: receipt.madeAt, classifiedBy: namesApp ? entries : [])
    }

    var entries: [ReceiptEntry] { transactions.map { ReceiptEntry($0, layout: layout) } }
}

extension AnsweredReceipt {
    /// The entries of `latest_receipt_info`; none without the shared secret.
    var latestEntries: [ReceiptEntry] { (transactions ?? []).map { ReceiptEntry($0, layout: layout) } }

    /// The entries of `in_app`. Apple's answer proves that the receipt is genuine.
    var inApp: [ReceiptEntry] { receipt.receipt.purchases.map { ReceiptEntry($0, form: .inApp) } }

    var assertions: [Assertion] {
        let latestEntries = latestEntries
        var assertions = inApp.assertions(of: app, statedAt: receipt.madeAt, classifiedBy: latestEntries)
        assertions += latestEntries.assertions(of: app, statedAt: requestDate)
        if let latest {
            assertions += latest.entries.assertions(of: app, statedAt: latest.madeAt, classifiedBy: latestEntries)
        }
        return assertions
    }
}
