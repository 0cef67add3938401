# Hex is not reached everywhere, so there is no mix.lock: every package has its exact version here instead.
defmodule Technology.MixProject do
  use Mix.Project

  def project do
    [app: :technology, version: "0.1.0", elixir: "~> 1.14", start_permanent: true, deps: deps()]
  end

  def application do
    [extra_applications: [:logger], mod: {Technology.Application, []}]
  end

  defp deps do
    [
      {:phoenix, "== 1.7.14"},
      {:plug_cowboy, "== 2.7.2"},
      {:jason, "== 1.4.4"},
      # What these need.
      {:castore, "== 1.0.8"},
      {:cowboy, "== 2.12.0"},
      {:cowboy_telemetry, "== 0.4.0"},
      {:cowlib, "== 2.13.0", override: true},
      {:mime, "== 2.0.6"},
      {:phoenix_pubsub, "== 2.1.3"},
      {:phoenix_template, "== 1.0.4"},
      {:plug, "== 1.16.1"},
      {:plug_crypto, "== 2.1.0"},
      {:ranch, "== 1.8.0", override: true},
      {:telemetry, "== 1.2.1"},
      {:websock, "== 0.5.3"},
      {:websock_adapter, "== 0.5.7"}
    ]
  end
end
