import AppStore
import StoreSimulator

/// The expected ledger, computed from the set of all events and commands: the design's rules in their simplest form.
///
/// It shares with the ledger only the order numbers (``OrderNumber``) and the hashes that order statements of one instant. It has no
/// state
/// between events: it always looks at all of them.
package struct ReferenceModel {
    let charges: [Charge]
    /// Renewal info and status of each contract.
    let renewals: [Key: Assertion]
    /// The renewal state of each contract from notifications V1 and answers, separate for each app.
    let legacyRenewals: [V1Renewal.Name: V1Renewal]
    /// The shop's orders by number.
    let shopOrders: [String: ShopOrder]
    let links: [OwnerLink]
    /// The first post of each charge by each user.
    let posts: [Post]
    /// The first post of a receipt for each contract, user and named purchase.
    let receiptPosts: [PostedContract]
    /// What Apple says of each download of an app.
    let downloads: [Key: [Assertion]]
    let downloadPosts: [DownloadPost]
    /// What notifications say of each token for purchases outside the App Store.
    let externalPurchaseTokens: [Key: [Assertion]]
    let notifications: [SimulatedNotification]
    let legacyNotifications: [LegacyNotification]
    /// The effects `status_found` that answers bring. Which of them the database records depends on the order: it leaves out what another
    /// effect has told before.
    let found: Set<String>
    /// The contracts of each event with several.
    let eventContracts: [EventContracts]

    package init(_ histories: [History]) {
        self.init(events: histories.flatMap(\.events), commands: histories.flatMap(\.commands))
    }

    package init(events: [LifeEvent], commands: [LifeCommand]) {
        var statements = Statements()
        for event in events { statements.take(event) }
        charges = statements.charges.compactMap { Charge(id: $0.id, assertions: $1, postedTypes: statements.postedTypes[$0] ?? []) }
        renewals = statements.renewals.compactMapValues { $0.max(by: Assertion.older) }
        legacyRenewals = statements.legacyRenewals.compactMapValues { $0.max(by: V1Renewal.older) }
        posts = Post.first(of: statements.posts)
        receiptPosts = PostedContract.first(of: statements.receiptPosts)
        downloads = statements.downloads
        downloadPosts = statements.downloadPosts
        externalPurchaseTokens = statements.externalPurchaseTokens
        notifications = statements.notifications
        legacyNotifications = statements.legacyNotifications
        found = statements.found
        eventContracts = events.compactMap(EventContracts.init)
        var shopOrders: [String: ShopOrder] = [:]
        var links: [OwnerLink] = []
        for command in commands {
            switch command {
            case .createOrder(let order): shopOrders[order.no] = order
            case .linkOwner(let link): links.append(link)
            }
        }
        self.shopOrders = shopOrders
        self.links = links
    }

    /// The charges of each known contract.
    func chargesByContract() -> [Key: [Charge]] {
        var contracts = Dictionary(grouping: charges, by: \.key)
        for key in Array(renewals.keys) + legacyRenewals.keys.map(\.contract) + Array(linked) + Array(migrated) {
            contracts[key, default: []] += []
        }
        return contracts
    }

    /// The contracts from or to which others have migrated.
    var migrated: Set<Key> { migrations.values.reduce(Set(migrations.keys)) { $0.union($1) } }

    /// The contracts in links and posts.
    var linked: Set<Key> {
        Set(links.map { Key($0.environment.rawValue, $0.contract) } + posts.map(\.contract) + receiptPosts.map(\.contract))
    }
}

/// The statements of all events by subject.
private struct Statements {
    var charges: [Key: [Assertion]] = [:]
    var renewals: [Key: [Assertion]] = [:]
    var legacyRenewals: [V1Renewal.Name: [V1Renewal]] = [:]
    /// The types in posted receipts whose charges Apple's answer brings.
    var postedTypes: [Key: [String]] = [:]
    var posts: [Post] = []
    var receiptPosts: [PostedContract] = []
    var downloads: [Key: [Assertion]] = [:]
    var downloadPosts: [DownloadPost] = []
    var externalPurchaseTokens: [Key: [Assertion]] = [:]
    var notifications: [SimulatedNotification] = []
    var legacyNotifications: [LegacyNotification] = []
    var found: Set<String> = []

    mutating func take(_ event: LifeEvent) {
        // Old payloads lack the environment; the notification has it.
        if let payload = event.transaction { take([Assertion(payload, environment: event.app.environment)]) }
        switch event.content {
        case .notification(let notification):
            notifications.append(notification)
            takeRenewal(of: event, notification.status)
            switch notification.content {
            case .appData(let download): take(download, of: notification.app)
            case .externalPurchaseToken(let token):
                externalPurchaseTokens[Key(notification.app.environment.rawValue, token.externalPurchaseID), default: []].append(
                    Assertion(of: token, in: notification)
                )
            case .data, .summary, .unclaimInfo: break
            }
        case .post(let post):
            if let user = post.user { posts.append(Post(of: post, by: user, in: event)) }
        case .appTransaction(let post):
            take(post.appTransaction, of: post.app)
            if let user = post.user { downloadPosts.append(DownloadPost(of: post, by: user, in: event)) }
        case .legacy(let notification):
            guard notification.isAccepted else { return }
            legacyNotifications.append(notification)
            take(notification.receiptAssertions)
            take(notification.legacyRenewals)
        case .receipt(let post):
            let assertions = post.receipt.entries.assertions(of: post.app, statedAt: post.receipt.madeAt)
            if post.needsAppleAnswer { takeTypes(assertions) } else { take(assertions) }
            receiptPosts += PostedContract.all(of: post, in: event)
        case .unanswered(let receipt, let app):
            take(receipt.entries.assertions(of: app, statedAt: receipt.madeAt))
        case .answer(let answer):
            take(answer.assertions)
            take(answer.legacyRenewals)
        case .element(let element):
            takeRenewal(of: event, element.status)
            guard let charge = element.state.transaction?.value, let end = charge.expiresDate, let status = element.status?.rawValue,
                (2...5).contains(status)
            else { return }
            found.insert(
                "\(element.app.environment.rawValue) status_found \(charge.originalTransactionID)/\(status)/\(end.millisecondsSince1970)"
            )
        }
    }

    private mutating func take(_ download: SimulatedAppTransaction, of app: SimulatedApp) {
        downloads[Key(app.environment.rawValue, download.appTransactionID), default: []].append(Assertion(of: download, app))
    }

    private mutating func takeRenewal(of event: LifeEvent, _ status: Status?) {
        guard let payload = event.renewalInfo else { return }
        let assertion = Assertion(payload, environment: event.app.environment, status: status)
        let key = Key(assertion.environment, assertion.text("originalTransactionId") ?? "")
        renewals[key, default: []].append(assertion)
    }

    private mutating func take(_ assertions: [Assertion]) {
        for assertion in assertions {
            charges[Key(assertion.environment, assertion.text("transactionId") ?? ""), default: []].append(assertion)
        }
    }

    private mutating func takeTypes(_ assertions: [Assertion]) {
        for assertion in assertions {
            guard let type = assertion.text("type") else { continue }
            postedTypes[Key(assertion.environment, assertion.text("transactionId") ?? ""), default: []].append(type)
        }
    }

    private mutating func take(_ renewals: [V1Renewal]) {
        for renewal in renewals { legacyRenewals[renewal.name, default: []].append(renewal) }
    }
}
