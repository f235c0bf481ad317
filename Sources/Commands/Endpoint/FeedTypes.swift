/// The types of the feed's entries, as `appstore.feed_types()` has them.
enum FeedTypes {
    static let all = [
        "effect.granted", "effect.refunded", "effect.revoked", "effect.refund_declined", "effect.refund_reversed", "effect.will_renew",
        "effect.will_not_renew", "effect.plan_changed", "effect.offer_redeemed", "effect.billing_retry_started",
        "effect.grace_period_started", "effect.grace_period_ended", "effect.expired", "effect.extended", "effect.consent_asked",
        "effect.consent_given", "effect.consumption_asked", "access.changed", "owner.changed", "order.paid", "order.refunded",
        "user.forgotten", "test", "endpoint.disabled", "inbox.failed", "notification.received", "notification.rejected",
    ]

    /// What a reader may ask for: the types, and a pattern such as `effect.*` for all that begin so.
    static let words = all + Set(all.compactMap { $0.contains(".") ? $0.split(separator: ".").first.map { "\($0).*" } : nil }).sorted()

    static let option = KnownWords(option: "--type", words: words)
}
