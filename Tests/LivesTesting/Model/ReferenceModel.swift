import AppStore
import StoreSimulator

/// What the books must say, computed anew from the set of all events and commands: the rules of the design in their plainest form.
///
/// It shares nothing with the ledger but the numbers of orders (``OrderNumber``), and looks at everything at once: no event is "new".
package struct ReferenceModel {
    let charges: [Charge]
    /// Renewal info and status of each contract.
    let renewals: [Key: Assertion]
    /// What the shop said, by order number.
    let shopOrders: [String: ShopOrder]
    let links: [OwnerLink]
    /// The first post of each charge by each user.
    let posts: [Post]
    let notifications: [SimulatedNotification]

    package init(_ histories: [History]) {
        self.init(events: histories.flatMap(\.events), commands: histories.flatMap(\.commands))
    }

    package init(events: [LifeEvent], commands: [LifeCommand]) {
        var notifications: [SimulatedNotification] = []
        var assertions: [Key: [Assertion]] = [:]
        var renewalAssertions: [Key: [Assertion]] = [:]
        var posts: [Post] = []
        for event in events {
            let environment = event.environment
            if let payload = event.transaction {
                let assertion = Assertion(payload, environment: environment)
                assertions[Key(assertion.environment, assertion.text("transactionId") ?? ""), default: []].append(assertion)
            }
            switch event.content {
            case .notification(let notification):
                notifications.append(notification)
                guard let payload = event.renewalInfo else { continue }
                let assertion = Assertion(payload, environment: environment, status: notification.status)
                let key = Key(assertion.environment, assertion.text("originalTransactionId") ?? "")
                renewalAssertions[key, default: []].append(assertion)
            case .post(let post):
                if let user = post.user { posts.append(Post(of: post, by: user, in: event)) }
            }
        }
        self.notifications = notifications
        charges = assertions.map { Charge(id: $0.id, assertions: $1) }
        renewals = renewalAssertions.compactMapValues { $0.max(by: Assertion.older) }
        self.posts = Post.first(of: posts)
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
}

extension LifeEvent {
    /// Old payloads do not say it themselves; what is around them does.
    fileprivate var environment: AppStoreEnvironment {
        switch content {
        case .notification(let notification): notification.app.environment
        case .post(let post): post.app.environment
        }
    }
}

/// Who posted which charge as his own, and when that was received.
struct Post {
    let charge: Key
    let contract: Key
    let user: String
    let receivedAt: Int64
    let eventID: Int64

    init(of post: ClientPost, by user: String, in event: LifeEvent) {
        charge = Key(post.app.environment.rawValue, post.transaction.transactionID)
        contract = Key(post.app.environment.rawValue, post.transaction.originalTransactionID)
        self.user = user
        receivedAt = event.receivedAt.millisecondsSince1970
        eventID = event.id
    }

    static func isEarlier(_ left: Post, _ right: Post) -> Bool { (left.receivedAt, left.eventID) < (right.receivedAt, right.eventID) }

    /// Posting again adds nothing.
    static func first(of posts: [Post]) -> [Post] {
        var seen: Set<[String]> = []
        return posts.sorted(by: isEarlier).filter { seen.insert([$0.charge.environment, $0.charge.id, $0.user]).inserted }
    }
}
