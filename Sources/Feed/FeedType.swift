/// The types of entries. `appstore.feed_types` has the same list.
package enum FeedType {
    package static let all = [
        "effect.granted", "effect.refunded", "effect.revoked", "effect.refund_declined", "effect.refund_reversed", "effect.will_renew",
        "effect.will_not_renew", "effect.plan_changed", "effect.offer_redeemed", "effect.billing_retry_started",
        "effect.grace_period_started", "effect.grace_period_ended", "effect.expired", "effect.extended", "effect.consent_asked",
        "effect.consent_given", "effect.consumption_asked", "effect.status_found", "effect.seats_refunded",
        "effect.seats_unclaimed", "effect.seats_changed", "effect.consent_rescinded", "effect.external_purchase_token",
        "effect.price_changed", "effect.metadata_updated", "effect.migrated", "effect.extension_completed",
        "effect.extension_failed", "access.changed", "owner.changed", "order.paid", "order.refunded",
        "user.forgotten", "test", "endpoint.disabled", "inbox.failed", "notification.received", "notification.rejected",
    ]

    /// What a reader may ask for: the types, and the patterns such as `effect.*` that stand for all that begin so.
    package static let words = all + Set(all.filter { $0.contains(".") }.map { "\($0.prefix { $0 != "." }).*" }).sorted()
}
