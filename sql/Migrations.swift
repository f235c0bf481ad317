/// The schema's history, compiled into the program so that it needs no files beside it.
package struct Migration: Sendable {
    /// Counts from 1 without gaps; the number in the file's name.
    package let version: Int
    /// The file's name without its ending, such as `m0001_create_inbox`.
    package let name: String
    /// One or more statements, run in one transaction as `appstore_owner`.
    package let sql: String

    private init(_ version: Int, _ name: String, _ bytes: [UInt8]) {
        self.version = version
        self.name = name
        self.sql = String(decoding: bytes, as: UTF8.self)
    }

    /// All migrations, oldest first. Forward only: a file that has been released is never edited.
    package static let all: [Migration] = [
        Migration(1, "m0001_create_inbox", PackageResources.m0001_create_inbox_sql),
        Migration(2, "m0002_create_ledger", PackageResources.m0002_create_ledger_sql),
        Migration(3, "m0003_derive_books", PackageResources.m0003_derive_books_sql),
        Migration(4, "m0004_create_interfaces", PackageResources.m0004_create_interfaces_sql),
        Migration(5, "m0005_complete_ledger", PackageResources.m0005_complete_ledger_sql),
        Migration(6, "m0006_state_rules", PackageResources.m0006_state_rules_sql),
        Migration(7, "m0007_derive_complete_books", PackageResources.m0007_derive_complete_books_sql),
        Migration(8, "m0008_create_commands", PackageResources.m0008_create_commands_sql),
        Migration(9, "m0009_create_entitlements", PackageResources.m0009_create_entitlements_sql),
        Migration(10, "m0010_create_api", PackageResources.m0010_create_api_sql),
        Migration(11, "m0011_create_state_digest", PackageResources.m0011_create_state_digest_sql),
        Migration(12, "m0012_create_repairs", PackageResources.m0012_create_repairs_sql),
        Migration(13, "m0013_carry_out_repairs", PackageResources.m0013_carry_out_repairs_sql),
        Migration(14, "m0014_partition_inbox", PackageResources.m0014_partition_inbox_sql),
        Migration(15, "m0015_create_forget", PackageResources.m0015_create_forget_sql),
        Migration(16, "m0016_mark_crashes", PackageResources.m0016_mark_crashes_sql),
        Migration(17, "m0017_look_at_books_once", PackageResources.m0017_look_at_books_once_sql),
        Migration(18, "m0018_create_statistics", PackageResources.m0018_create_statistics_sql),
        Migration(19, "m0019_guard_plans", PackageResources.m0019_guard_plans_sql),
        Migration(20, "m0020_derive_books_lightly", PackageResources.m0020_derive_books_lightly_sql),
        Migration(21, "m0021_bound_repairs", PackageResources.m0021_bound_repairs_sql),
        Migration(22, "m0022_forget_in_phases", PackageResources.m0022_forget_in_phases_sql),
        Migration(23, "m0023_add_receipt_half", PackageResources.m0023_add_receipt_half_sql),
        Migration(24, "m0024_state_legacy_rules", PackageResources.m0024_state_legacy_rules_sql),
        Migration(25, "m0025_derive_legacy_books", PackageResources.m0025_derive_legacy_books_sql),
        Migration(26, "m0026_show_legacy_books", PackageResources.m0026_show_legacy_books_sql),
        Migration(27, "m0027_create_outbox", PackageResources.m0027_create_outbox_sql),
        Migration(28, "m0028_open_legacy_doors", PackageResources.m0028_open_legacy_doors_sql),
        Migration(29, "m0029_pass_no_event", PackageResources.m0029_pass_no_event_sql),
        Migration(30, "m0030_bound_reads", PackageResources.m0030_bound_reads_sql),
        Migration(31, "m0031_order_merge_locks", PackageResources.m0031_order_merge_locks_sql),
        Migration(32, "m0032_order_command_locks", PackageResources.m0032_order_command_locks_sql),
        Migration(33, "m0033_show_what_waits", PackageResources.m0033_show_what_waits_sql),
        Migration(34, "m0034_store_for_good", PackageResources.m0034_store_for_good_sql),
        Migration(35, "m0035_mark_with_the_server", PackageResources.m0035_mark_with_the_server_sql),
        Migration(36, "m0036_see_what_others_commit", PackageResources.m0036_see_what_others_commit_sql),
    ]

    /// Creates the cluster's roles and their time-outs; safe to run again.
    package static let roles = String(decoding: PackageResources.roles_sql, as: UTF8.self)
}
