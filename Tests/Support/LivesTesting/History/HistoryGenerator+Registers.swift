import AppStore
import Randomness
import StoreSimulator

/// What is registered beside the purchases: tokens for purchases outside the App Store, and downloads of the app.
extension HistoryGenerator {
    mutating func addRegisters() {
        if oneIn(4) { addExternalPurchaseToken() }
        if oneIn(4) { addDownload() }
    }

    /// Notifications about one token. They may differ in whether they have the members of custom links.
    private mutating func addExternalPurchaseToken() {
        var store = SimulatedStore(app: anyApp(), seed: generator.next(), now: Self.beginning)
        let created = store.externalPurchaseToken(.created)
        add(created)
        for subtype in [Subtype.unreported, .activeTokenReminder, .activeTokenReminder] where !oneIn(3) {
            let signedDate = laterDate(than: created.signedDate)
            var notice = created.repeated(as: generator.uuid(), at: signedDate)
            notice.subtype = subtype
            if case .externalPurchaseToken(var token) = created.content, oneIn(2) {
                token.type = oneIn(2) ? .services : .acquisition
                token.expirationDate = laterDate(than: signedDate)
                notice.content = .externalPurchaseToken(token)
            }
            add(notice)
        }
    }

    /// What devices of one Apple Account hold of its download of the app, as users' apps post it; a parent may withdraw consent.
    private mutating func addDownload() {
        var app = anyApp()
        var store = SimulatedStore(app: app, seed: generator.next(), now: Self.beginning)
        var life = store.makeCustomer()
        for version in 1...Int.random(in: 1...4, using: &generator) {
            var download = life.appTransaction()
            download.receiptCreationDate = laterDate(than: Self.beginning)
            app.bundleVersion = String(version)
            if oneIn(3) { download.originalPlatform = nil }
            if oneIn(3) { download.preorderDate = Self.beginning }
            if oneIn(4) { download.revocationDate = laterDate(than: download.receiptCreationDate) }
            for _ in 0...(oneIn(3) ? 1 : 0) {
                let user = oneIn(4) ? nil : users.randomElement(using: &generator)
                let post = AppTransactionPost(appTransaction: download, app: app, user: user)
                receive(.appTransaction(post), after: download.receiptCreationDate)
            }
        }
        if oneIn(2) { add(life.rescindConsent()) }
    }

    private mutating func anyApp() -> SimulatedApp {
        var app = app
        app.environment = oneIn(3) ? .sandbox : .production
        return app
    }
}
