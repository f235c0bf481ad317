import AppStore
import OpenSSL
import StoreSimulator
import StrictJSON

/// The registers of downloads and of tokens for purchases outside the App Store: each lasting member from the newest statement that has it.
extension ReferenceModel {
    func registerLines() -> [String] {
        let tokens = externalPurchaseTokens.map { key, statements in
            line(
                "external_purchase_token",
                key,
                statements,
                lasting: [
                    ("bundle_id", "bundleId"), ("app_apple_id", "appAppleId"), ("token_type", "tokenType"),
                    ("token_creation_date", "tokenCreationDate"), ("token_expiration_date", "tokenExpirationDate"),
                ],
                newest: ("subtype", "subtype"),
                [("first_signed_date", statements.map(\.signed).min().map(String.init))]
            )
        }
        let posts = Dictionary(grouping: downloadPosts, by: \.download)
        return tokens
            + downloads.map { key, statements in
                let first = posts[key]?.min { ($0.receivedAt, $0.eventID) < ($1.receivedAt, $1.eventID) }
                return line(
                    "app_transaction",
                    key,
                    statements,
                    lasting: [
                        ("bundle_id", "bundleId"), ("original_application_version", "originalApplicationVersion"),
                        ("application_version", "applicationVersion"), ("original_purchase_date", "originalPurchaseDate"),
                        ("original_platform", "originalPlatform"), ("preorder_date", "preorderDate"), ("store_type", "storeType"),
                    ],
                    newest: ("revocation_date", "revocationDate"),
                    [
                        ("user_id", first?.user), ("posted_at", first.map { String($0.receivedAt) }),
                        ("post_event_id", first.map { String($0.eventID) }),
                    ]
                )
            }
    }

    private func line(
        _ what: String,
        _ key: Key,
        _ statements: [Assertion],
        lasting members: [(column: String, member: String)],
        newest state: (column: String, member: String),
        _ others: [(String, String?)]
    ) -> String {
        let statements = statements.sorted(by: Assertion.older)
        var fields = members.map { column, member in (column, statements.last { $0.text(member) != nil }?.text(member)) }
        fields.append((state.column, statements.last?.text(state.member)))
        fields += [("signed_date", statements.last.map { String($0.signed) }), ("payload_hash", statements.last?.hash.hexadecimal)]
        return LedgerLine.text(what, key.environment, key.id, fields + others)
    }
}

/// A user's app posted a download.
struct DownloadPost {
    let download: Key
    let user: String
    let receivedAt: Int64
    let eventID: Int64

    init(of post: AppTransactionPost, by user: String, in event: LifeEvent) {
        download = Key(post.app.environment.rawValue, post.appTransaction.appTransactionID)
        self.user = user
        receivedAt = event.receivedAt.millisecondsSince1970
        eventID = event.id
    }
}

extension Assertion {
    init(of download: SimulatedAppTransaction, _ app: SimulatedApp) {
        let json = download.payload(of: app)
        self.init(
            half: .jws,
            environment: app.environment.rawValue,
            json: json,
            signed: download.receiptCreationDate.millisecondsSince1970,
            hash: Digest.sha256(JSONSerializer.serialize(json))
        )
    }

    /// What a notification says of a token, with its subtype.
    init(of token: ExternalToken, in notification: SimulatedNotification) {
        var json = token.payload(of: notification.app)
        json["subtype"] = notification.subtype.map { .string($0.rawValue) }
        self.init(
            half: .jws,
            environment: notification.app.environment.rawValue,
            json: json,
            signed: notification.signedDate.millisecondsSince1970,
            hash: Digest.sha256(JSONSerializer.serialize(notification.outerPayload))
        )
    }
}
