import AppStore
import Ledger
import StoreSimulator

extension LifeReceipt {
    /// What a signed receipt says, as every client can read it: nothing, if it is not what it should be.
    var entries: [ReceiptEntry] { isGenuine ? receipt.purchases.map { ReceiptEntry($0, form: .signedReceipt) } : [] }
}

extension [ReceiptEntry] {
    /// What the entries of one receipt say.
    ///
    /// - Parameter others: entries beside the receipt that are not as sure as it, and may only say what kind of cancellation one in it is.
    func assertions(of app: SimulatedApp, statedAt: Timestamp, classifiedBy others: [ReceiptEntry] = []) -> [Assertion] {
        map { entry in
            let same = entry.cancellationDate == nil ? [] : others.filter { $0.cancellation == entry.cancellation }
            let isUpgraded = (same + [entry]).contains(where: \.isSaidToBeUpgraded) || entry.isReplaced(by: self)
            var assertion = entry.assertion(of: app, statedAt: statedAt, isUpgraded: isUpgraded)
            assertion.isOfFamily = (same + [entry]).contains(where: \.isOfFamily)
            return assertion
        }
    }
}

extension ReceiptEntry {
    /// Which charge was cancelled in which second.
    var cancellation: [String] { [id, cancellationDate.map { "\($0.inWholeSeconds.millisecondsSince1970)" } ?? ""] }
}

extension LegacyNotification {
    /// Only its receipt says anything of charges; its other half may say that a cancellation there was an upgrade, when it names the app
    /// whose secret vouches for it.
    var receiptAssertions: [Assertion] {
        receipt.entries.assertions(of: app, statedAt: receipt.madeAt, classifiedBy: namesApp ? entries : [])
    }

    var entries: [ReceiptEntry] { transactions.map { ReceiptEntry($0, layout: layout) } }
}

extension AnsweredReceipt {
    /// Of what was bought latest; none without the shared secret.
    var latestEntries: [ReceiptEntry] { (transactions ?? []).map { ReceiptEntry($0, layout: layout) } }

    /// Of the receipt that was asked about, in the store's words: that it is the store's it has said by answering.
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
