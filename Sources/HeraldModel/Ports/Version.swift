/// The version of Herald, as `herald --version` and the header `user-agent` of callbacks show it.
package let heraldVersion = "0.2.0-dev"
