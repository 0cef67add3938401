# Hex is not reached everywhere, so there is no mix.lock: every package has its exact version here instead.
defmodule Technology.MixProject do
  use Mix.Project

  def project do
    [
      app: :technology,
      version: "0.1.0",
      elixir: "~> 1.14",
      start_permanent: true,
      deps: deps(),
      # `runtime: false` alone would keep its modules out of the release.
      releases: [technology: [applications: [trot: :load]]]
    ]
  end

  def application do
    [extra_applications: [:logger], mod: {Technology.Application, []}]
  end

  defp deps do
    [
      # Of 2018, for Cowboy 1, which no Erlang of today runs. Its router is a Plug, which plug_cowboy serves; its own application,
      # which lists cowboy and plug_heartbeat in old versions, is not started.
      {:trot, "== 0.7.0", runtime: false},
      {:plug_cowboy, "== 2.7.2"},
      # What these need.
      {:calliope, "== 0.4.2", override: true},
      {:cowboy, "== 2.12.0", override: true},
      {:cowboy_telemetry, "== 0.4.0"},
      {:cowlib, "== 2.13.0", override: true},
      {:mime, "== 2.0.6", override: true},
      {:neotoma, "== 1.7.3", override: true},
      {:plug, "== 1.16.1", override: true},
      {:plug_crypto, "== 2.1.0"},
      {:plug_heartbeat, "== 1.0.0", override: true},
      {:poison, "== 3.1.0", override: true},
      {:ranch, "== 1.8.0", override: true},
      {:slime, "== 1.1.0", override: true},
      {:telemetry, "== 1.2.1"}
    ]
  end
end
